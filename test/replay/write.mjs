// One process of those that write a golden ledger; see golden.mjs.
// write.mjs <store> <log of what was sent> <first | second>
import { appendFileSync } from 'node:fs'
import { open } from 'counterfoil'
import { makeGraphs, scopeIds } from './golden.mjs'

const [, , store = '', log = '', life = 'first'] = process.argv
const dying = life === 'first' ? 'doubt' : 'cut'
const graphs = makeGraphs((sent) => {
  appendFileSync(log, `${JSON.stringify(sent)}\n`)
  // It has happened, and nobody will write that down.
  if (sent.tool === 'mail' && sent.to === dying) process.kill(process.pid, 'SIGKILL')
})
const { order, waiting, family, tools } = graphs
const cf = await open({ store, graphs: [order, waiting, family], settleMs: 50 })
const worker = cf.worker()
await worker.start()
const by = { by: 'golden' }

if (life === 'first') {
  const start = (/** @type {any} */ of, /** @type {string} */ runId, more = {}) =>
    cf.start(of, { to: runId, ...more }, { runId })
  const asked = await Promise.all(
    ['done', 'approval', 'paused', 'cancelled'].map((name) => start(order, name)),
  )
  await Promise.all(asked.map((run) => run.until('waiting_human')))
  for (const { itemId, version, runId } of (await cf.inbox.list()).items) {
    if (runId !== 'done') continue
    await cf.inbox.decide(itemId, { outcome: 'approve', version, reason: 'golden', ...by })
  }
  await cf.run('done').until('completed')
  await cf.run('paused').pause(by)
  await cf.run('cancelled').cancel(by)
  const parked = await Promise.all([
    start(waiting, 'signal', { how: 'signal' }),
    start(waiting, 'sleep', { how: 'sleep' }),
    start(family, 'child'),
  ])
  await Promise.all(parked.map((run) => run.until('waiting_tool')))
  const scope = await cf.scope(scopeIds)
  await scope.call(tools.mail, { to: 'scope' }, { callId: 'call_1' })
  await scope.close()
  await (await start(order, 'doubt')).until('completed')
} else {
  await cf.run('doubt').until('waiting_human')
  const run = await cf.start(order, { to: 'cut' }, { runId: 'cut' })
  await run.until('completed')
}
