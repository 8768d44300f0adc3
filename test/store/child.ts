// A program of its own for tests that need a second process: child.ts <command> <path> …
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { systemClock as clock, pause } from '../../src/clock.ts'
import { isCounterfoilError } from '../../src/model/errors.ts'
import type { Run } from '../../src/model/run/records.ts'
import { bootId } from '../../src/store/boot.ts'
import { openSqlite } from '../../src/store/sqlite/index.ts'
import type { Store } from '../../src/store/store.ts'
import { commitOf, event, graphs, newRun } from '../../src/testing/store/fixtures.ts'
import { appendAll, patiently, pruneAll } from './thread-race.ts'

const [, , command = '', path = '', ...rest] = process.argv
const say = (what: object) => console.log(JSON.stringify(what))

async function hold(store: Store, runId: string): Promise<Run> {
  const workerId = `w_${runId}`
  const process_ = { pid: process.pid, host: 'here', bootId: bootId(), startedAt: clock.now() }
  const socket = { socketPath: null, socketInode: null }
  await store.register({ workerId, ...process_, ...socket }, 60_000)
  await store.start(newRun(runId, { graph: runId }))
  const asked = [{ name: runId, version: graphs[0]?.version ?? '' }]
  const [run] = await store.claim({ workerId, graphs: asked, countMax: 1 })
  if (run === undefined) throw new Error('nothing claimed')
  return run
}

const commands: Record<string, () => Promise<void>> = {
  open: async () => {
    const store = await openSqlite({ path, clock })
    await store.close()
    say({ opened: true })
  },

  /** Opens at the same moment as others, starts a run of its own and writes to it many times. */
  race: async () => {
    const [runId = '', count = '1'] = rest
    say({ ready: true })
    while (!existsSync(join(dirname(path), 'go'))) await pause(clock, 1)
    const store = await openSqlite({ path, clock })
    const run = await hold(store, runId)
    for (let i = 0; i < Number(count); i++) {
      const events = [event(`e${i}`, runId)]
      const [result] = await patiently(() => store.commit([commitOf(run, `c${i}`, { events })]))
      if (result !== 'done') throw new Error(`commit ${i} is ${result}`)
    }
    await store.close()
    say({ wrote: Number(count) })
  },

  /** Appends to a thread or prunes it, at the same moment as others. */
  thread: async () => {
    const [what = '', count = '1'] = rest
    const store = await openSqlite({ path, clock })
    say({ ready: true })
    while (!existsSync(join(dirname(path), 'go'))) await pause(clock, 1)
    say(await (what === 'append' ? appendAll : pruneAll)(store, Number(count)))
    await store.close()
  },

  /** Fills the disk, is refused, makes room, and writes the refused commit again. */
  fill: async () => {
    const store = await openSqlite({ path, clock })
    const run = await hold(store, 'r1')
    const ballast = join(dirname(path), 'ballast')
    writeFileSync(ballast, Buffer.alloc(1024 * 1024))
    const big = { text: 'x'.repeat(50_000) }
    const commit = (i: number) =>
      store.commit([commitOf(run, `c${i}`, { events: [event(`e${i}`, 'r1', big)] })])
    let i = 0
    let refused: unknown
    for (; i < 1_000 && refused === undefined; i++) {
      await commit(i).catch((error: unknown) => {
        refused = error
      })
    }
    const readable = (await store.getRun(run))?.state
    rmSync(ballast)
    const [again] = await commit(i - 1)
    const [after] = await commit(i)
    const events: string[] = []
    let cursor: string | null | undefined
    do {
      const page = await store.listEvents(run, cursor ? { cursor } : {})
      events.push(...page.items.map((row) => row.kind).filter((kind) => /^e\d/.test(kind)))
      cursor = page.next
    } while (cursor !== null)
    await store.close()
    const whole = events.join() === Array.from({ length: i + 1 }, (_, n) => `e${n}`).join()
    say({ ...fault(refused), readable, again, after, whole, written: i })
  },
}

function fault(error: unknown): object {
  if (!isCounterfoilError(error)) return { fault: String(error) }
  return { code: error.code, message: error.message, retryable: error.retryable }
}

const work = commands[command]
if (work === undefined) throw new Error(`no command ${command}`)
await work().catch((error: unknown) => {
  say(fault(error))
  process.exitCode = 1
})
