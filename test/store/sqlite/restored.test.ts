// Every way to put an old state in the place of a store, with a run that has gone on since: calls 2
// and 3 are not in the backup, and a worker that went on from it would send them again (I12).
import { copyFileSync, renameSync, rmSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { type Counterfoil, open, tool, workflow } from '../../../src/index.ts'
import { newPath, raw } from '../bench.ts'

function site(path: string, sent: number[]) {
  const send = tool({
    name: 'send',
    replayClass: 'unsafe_on_replay',
    input: z.number(),
    run: async (n) => sent.push(n),
  })
  const flow = workflow({
    id: 'flow@1.0.0',
    input: z.null(),
    tools: [send],
    run: async (_, ctx) => {
      await ctx.call(send, 1)
      await ctx.signal('go')
      await ctx.call(send, 2)
      await ctx.call(send, 3)
      await ctx.signal('end')
      await ctx.call(send, 4)
    },
  })
  const said: string[] = []
  const onWarning = (message: string) => void said.push(message)
  return { flow, said, opened: open({ store: `sqlite:${path}`, graphs: [flow], onWarning }) }
}

type Story = { path: string; backup: string; cf: Counterfoil; sent: number[]; said: string[] }

/** A run that had sent 1 when the backup was made, and has sent 2 and 3 since. */
async function story(): Promise<Story> {
  const path = newPath()
  const backup = `${path}.backup`
  const sent: number[] = []
  const { flow, said, opened } = site(path, sent)
  const cf = await opened
  await cf.worker({ pollMs: 10, leaseMs: 600 }).start()
  const run = await cf.start(flow, null, { runId: 'r1' })
  await run.until('waiting_tool')
  for (const end of ['', '-wal']) copyFileSync(path + end, `${path}.raw${end}`)
  const db = new Database(path)
  await db.backup(backup)
  db.close()
  await run.signal('go')
  while (sent.length < 3) await sleep(1)
  await run.until('waiting_tool')
  expect(sent).toEqual([1, 2, 3])
  return { path, backup, cf, sent, said }
}

/** What a worker does with what lies there now; it has every chance to send. */
async function tryOn({ path, sent }: Story): Promise<string | null> {
  const { opened, said } = site(path, sent)
  const cf = await opened
  const moved = await cf.store.moved()
  await cf.worker({ pollMs: 10, leaseMs: 300 }).start()
  await cf
    .run('r1')
    .signal('go')
    .catch(() => {})
  if (moved === null) await sleep(300)
  else while (said.length === 0) await sleep(1)
  await cf.close()
  return moved
}

const remove = (path: string) => {
  for (const end of ['', '-wal', '-shm']) rmSync(path + end, { force: true })
}
/** What `.restore` of the shell does: the backup API, into the live file. */
const restoreInto = async ({ path, backup }: Story) => {
  const db = new Database(backup)
  await db.backup(path)
  db.close()
}

interface Way {
  readonly name: string
  readonly restore: (of: Story) => void | Promise<void>
  readonly says: RegExp
  /** Its log has all that the file has lost. */
  readonly unseen?: true
}

const ways: Way[] = [
  {
    name: 'cp over the file',
    restore: ({ path, backup }) => copyFileSync(backup, path),
    says: /behind its witness/,
    unseen: true,
  },
  {
    name: 'mv over the file',
    restore: ({ path, backup }) => renameSync(backup, path),
    says: /not the one/,
  },
  { name: 'sqlite3 .restore', restore: restoreInto, says: /behind its witness/ },
  {
    name: 'VACUUM INTO, then mv',
    restore: ({ path, backup }) => {
      raw(backup, (db) => db.exec(`vacuum into '${path}.vacuumed'`))
      renameSync(`${path}.vacuumed`, path)
    },
    says: /not the one/,
  },
  {
    name: 'deletion, then cp',
    restore: ({ path, backup }) => {
      remove(path)
      copyFileSync(backup, path)
    },
    says: /not the one/,
  },
  {
    name: 'cp of the database without its log',
    restore: ({ path, backup }) => {
      for (const end of ['-wal', '-shm']) rmSync(path + end, { force: true })
      copyFileSync(backup, path)
    },
    says: /behind its witness/,
  },
  {
    name: 'cp of the database and its log',
    restore: ({ path }) => {
      rmSync(`${path}-shm`, { force: true })
      for (const end of ['', '-wal']) copyFileSync(`${path}.raw${end}`, path + end)
    },
    says: /behind its witness|not in it any more/,
  },
  {
    name: 'cp of the database and its log, the index of the log left there',
    restore: ({ path }) => {
      for (const end of ['', '-wal']) copyFileSync(`${path}.raw${end}`, path + end)
    },
    says: /behind its witness|not in it any more/,
  },
]

describe('I12 a restored backup is not worked on before somebody adopts it', () => {
  for (const { name, restore, says } of ways) {
    test(`${name}, while nobody has it open`, async () => {
      const of = await story()
      await of.cf.close()
      await restore(of)
      expect(await tryOn(of)).toMatch(says)
      // A second look is no adoption, nor is what the first one wrote.
      expect(await tryOn(of)).toMatch(says)
      expect(of.sent).toEqual([1, 2, 3])
    })
  }

  for (const { name, restore, says } of ways.filter(({ unseen }) => unseen !== true)) {
    test(`${name}, under a worker`, async () => {
      const of = await story()
      await restore(of)
      while ((await of.cf.store.moved()) === null) await sleep(1)
      await of.cf
        .run('r1')
        .signal('go')
        .catch(() => {})
      while (of.said.length === 0) await sleep(1)
      expect(of.sent).toEqual([1, 2, 3])
      // As it says: the old one and a new one beside each other would share a log. With its last
      // breath it may have put all that it knew into a file that was only written over.
      await of.cf.close()
      expect((await tryOn(of)) ?? says.source).toMatch(says)
      expect(of.sent).toEqual([1, 2, 3])
      expect(of.said).toHaveLength(1)
    })
  }

  test('cp over the file, under a worker whose log has all of it: nothing is lost', async () => {
    const of = await story()
    copyFileSync(of.backup, of.path)
    await of.cf.run('r1').signal('end')
    while (of.sent.length < 4) await sleep(1)
    await of.cf.run('r1').result()
    await of.cf.close()
    await tryOn(of)
    expect(of.sent).toEqual([1, 2, 3, 4])
  })

  test('a run that the backup does not know is gone, and nothing of it follows', async () => {
    const of = await story()
    const { opened, flow } = site(of.path, of.sent)
    const other = await opened
    await other.start(flow, null, { runId: 'r2' })
    while (of.sent.length < 4) await sleep(1)
    await restoreInto(of)
    await expect(of.cf.run('r2').signal('go')).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' })
    while (of.said.length === 0) await sleep(1)
    expect(of.sent).toEqual([1, 2, 3, 1])
    await Promise.all([other.close(), of.cf.close()])
  })

  test('adopted: what was held is let go, and the count goes on above the witness', async () => {
    const of = await story()
    await restoreInto(of)
    while (of.said.length === 0) await sleep(1)
    await of.cf.run('r1').cancel({ by: 'ana', reason: 'it sent 2 and 3 in the gap' })
    expect(await of.cf.store.moved()).toMatch(/behind/)
    await of.cf.store.adopt('ana', 'looked through')
    expect(await of.cf.store.moved()).toBe(null)
    await of.cf.close()
    const next = site(of.path, of.sent)
    const cf = await next.opened
    expect(await cf.store.moved()).toBe(null)
    await cf.worker({ pollMs: 10 }).start()
    await cf.start(next.flow, null, { runId: 'r2' })
    while (of.sent.length < 4) await sleep(1)
    expect(of.sent).toEqual([1, 2, 3, 1])
    await cf.close()
  })
})
