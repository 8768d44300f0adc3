// The control that must fail: plain checkpoint replay, as others do it. A step's result is saved
// after the step; a resumed program runs again every step that has no result.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { post } from './workload.mjs'

const [, , file = '', port = '0', dieAt = '0', to = 'r1'] = process.argv
/** @type {Record<string, unknown>} */
const saved = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {}
let hits = 0

function hit() {
  if (++hits === Number(dieAt)) process.kill(process.pid, 'SIGKILL')
}

async function step(/** @type {string} */ name, /** @type {unknown} */ input) {
  const key = JSON.stringify([name, input])
  if (!(key in saved)) {
    hit()
    const result = await post(Number(port), { tool: name, key: null, input, attemptId: null })
    hit()
    saved[key] = result
    writeFileSync(file, JSON.stringify(saved))
    hit()
  }
  return saved[key]
}

for (const subject of ['hello', 'paid', 'bye']) await step('mail', { to, subject })
process.stdout.write(JSON.stringify({ hits }))
