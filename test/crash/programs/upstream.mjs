// The upstream, in a process of its own: counts effects in its own fsynced log. An unsafe effect
// happens as often as it is asked for; a keyed one once for each key. What is asked with `lateMs`
// happens so much later, whatever has become of whoever asked. A GET is answered when all that had
// arrived before it is in the log, but for what is late.
// upstream.mjs <log> <answers after so many ms> [<the first of this tool> <after so many>]
import { appendFileSync, fsyncSync, openSync, writeSync } from 'node:fs'
import { createServer } from 'node:http'

const [, , path = 'effects.log', delay = '1', slowTool = '', slow = delay] = process.argv
appendFileSync(path, '')
const log = openSync(path, 'a')
const byKey = new Map()
let count = 0
let wasSlow = false

/**
 * @param {{ tool: string, key: string | null, input: unknown, attemptId: string | null,
 *   lateMs?: number }} asked
 */
function effect({ lateMs: _, ...ask }) {
  const known = ask.key === null ? undefined : byKey.get(`${ask.tool}/${ask.key}`)
  const result = known ?? { id: `${ask.tool}-${++count}` }
  if (ask.key !== null) byKey.set(`${ask.tool}/${ask.key}`, result)
  writeSync(
    log,
    `${JSON.stringify({ ...ask, result, repeated: known !== undefined, at: Date.now() })}\n`,
  )
  fsyncSync(log)
  return result
}

// What a dead process has sent may still be on its way through the kernel and this event loop.
const settleMs = 40

/**
 * @param {import('node:http').ServerResponse} response
 * @param {Parameters<typeof effect>[0]} ask
 */
function answer(response, ask) {
  const result = effect(ask)
  // Never at once: whoever is killed "in mid-call" must not have its answer yet.
  const isSlow = ask.tool === slowTool && !wasSlow
  wasSlow ||= isSlow
  const waitMs = Number(isSlow ? slow : delay) * (0.5 + Math.random() / 2)
  setTimeout(() => response.end(JSON.stringify(result)), waitMs)
}

const server = createServer((request, response) => {
  if (request.method === 'GET') {
    setTimeout(() => response.end('{}'), settleMs)
    return
  }
  let body = ''
  request.on('data', (chunk) => {
    body += chunk
  })
  request.on('end', () => {
    const ask = JSON.parse(body)
    if (ask.lateMs === undefined) answer(response, ask)
    else {
      appendFileSync(`${path}.taken`, `${body}\n`)
      setTimeout(() => answer(response, ask), ask.lateMs)
    }
  })
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  process.stdout.write(`${typeof address === 'object' ? address?.port : ''}\n`)
})
process.on('disconnect', () => process.exit(0))
