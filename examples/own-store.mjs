// A store of one's own (own-store/file-store.mjs) under a process that is killed: it has sent a
// mail, and dies before it can write down that it has. The next process asks a person.
//
//   node examples/own-store.mjs [folder]
import { spawn } from 'node:child_process'
import { appendFileSync, mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { open, tool, workflow } from 'counterfoil'
import { z } from 'zod'
import { openFile } from './own-store/file-store.mjs'

const [, , folder = mkdtempSync(join(tmpdir(), 'own-store-')), role] = process.argv
const outbox = join(folder, 'outbox')

const sendMail = tool({
  name: 'send_mail',
  replayClass: 'unsafe_on_replay',
  input: z.object({ to: z.string() }),
  output: z.object({ id: z.string() }),
  run: ({ to }) => {
    appendFileSync(outbox, `${to}\n`)
    if (role === 'first') process.kill(process.pid, 'SIGKILL')
    return { id: 'm-1' }
  },
})

const letter = workflow({
  id: 'letter@1.0.0',
  input: z.object({ to: z.string() }),
  tools: [sendMail],
  run: ({ to }, ctx) => ctx.call(sendMail, { to }),
})

const start = async () => {
  const store = openFile(join(folder, 'runs.lines'))
  const cf = await open({ store, graphs: [letter], onWarning: () => {} })
  await cf.worker().start()
  return { cf, run: await cf.start(letter, { to: 'ana' }, { runId: 'letter-1' }) }
}

if (role === 'first') {
  const { run } = await start()
  await run.result()
}

const child = spawn(process.execPath, [fileURLToPath(import.meta.url), folder, 'first'])
const signal = await new Promise((resolve) => child.on('exit', (_, by) => resolve(by)))
console.log(`the first process: ${signal}`)

const { cf, run } = await start()
await run.until('waiting_human')
const [item] = (await cf.inbox.list({ kind: 'doubt' })).items
if (item === undefined) throw new Error('nobody was asked')
console.log(`the second process: ${item.title}`)
await cf.inbox.decide(item.itemId, {
  outcome: 'happened',
  result: { id: 'm-1' },
  by: 'ana',
  reason: 'it came',
  version: item.version,
})
console.log('the run:', await run.result())
console.log('mails:', readFileSync(outbox, 'utf8').trim().split('\n').length)
await cf.close()
