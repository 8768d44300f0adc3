// What only shows with real processes and real disks: races, turns, privileges, a full disk.
import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import Database from 'better-sqlite3'
import { beforeAll, describe, expect, test } from 'vitest'
import { bootId } from '../../../src/store/boot.ts'
import {
  attempt,
  commitOf,
  event,
  graphs,
  namespace,
  newRun,
  ref,
} from '../../../src/testing/store/fixtures.ts'
import { buildChild, contents, ended, newFolder, newPath, raw, start, using } from '../bench.ts'
import { readAll } from '../thread-race.ts'

const nobody = 65_534
const isRoot = process.getuid?.() === 0
let child = ''
beforeAll(async () => {
  child = await buildChild()
})

const node = (...args: string[]) => start(process.execPath, [child, ...args])

describe('several processes', () => {
  test('make a new file at once, agree on its key, and write in turn', async () => {
    for (let round = 0; round < 3; round++) {
      const path = newPath()
      const names = ['a', 'b', 'c', 'd']
      const children = names.map((name) => node('race', path, name, '25'))
      const ends = children.map(ended)
      const ready = (one: (typeof children)[number]) =>
        new Promise((resolve) => one.stdout?.once('data', resolve))
      await Promise.all(children.map(ready))
      writeFileSync(join(dirname(path), 'go'), '')
      for (const end of await Promise.all(ends)) {
        expect(end).toMatchObject({ code: 0, said: { wrote: 25 } })
      }
      const files = readdirSync(dirname(path)).sort()
      expect(files).toEqual(['go', 'runs.db', 'runs.db.key', 'runs.db.witness'])
      expect(readFileSync(`${path}.key`, 'utf8')).toMatch(/^k1 [0-9a-f]{64}\n$/)
      expect(statSync(`${path}.key`).mode & 0o777).toBe(0o600)
      await using(path, async (store) => {
        for (const name of names) {
          const { items } = await store.listEvents(ref(name), {})
          const kinds = items.map((row) => row.kind)
          expect(kinds.slice(2)).toEqual(Array.from({ length: 25 }, (_, i) => `e${i}`))
        }
      })
    }
  }, 300_000)

  test('K1, B6 append to a thread and prune it at once, and no step loses its base', async () => {
    const path = newPath()
    await using(path, async () => {})
    const children = ['append', 'prune', 'prune'].map((what) => node('thread', path, what, '400'))
    const ends = children.map(ended)
    await Promise.all(
      children.map((one) => new Promise((resolve) => one.stdout?.once('data', resolve))),
    )
    writeFileSync(join(dirname(path), 'go'), '')
    const [appended, ...pruned] = await Promise.all(ends)
    for (const end of [appended, ...pruned]) expect(end).toMatchObject({ code: 0, errors: '' })
    // They did meet: steps were gone when they were to be built on, and built on when to go.
    expect(appended?.said['whole']).toBeGreaterThan(1)
    const sum = (key: string) => pruned.reduce((all, end) => all + Number(end.said[key]), 0)
    expect(sum('pruned')).toBeGreaterThan(0)
    expect(sum('refused')).toBeGreaterThan(0)
    await using(path, async (store) => {
      expect(await readAll(store)).toBeGreaterThan(0)
    })
  }, 300_000)

  test('one that keeps the lock too long makes the others say so, and no more', async () => {
    await using(newPath(), async (store) => {
      await store.start(newRun())
      const path = store.url.slice('sqlite:'.length)
      const other = new Database(path)
      other.exec('begin immediate')
      await expect(store.start(newRun('r2'))).rejects.toMatchObject({
        code: 'STORE_BUSY',
        retryable: true,
        message: expect.stringContaining(path),
      })
      expect(await store.getRun(ref())).toMatchObject({ state: 'pending' })
      other.exec('rollback')
      other.close()
      expect(await store.start(newRun('r2'))).toMatchObject({ created: true })
    })
  })
})

describe('places that cannot be written', () => {
  // Root may write everywhere, so the child is somebody else.
  const asNobody = async (path: string) => {
    if (isRoot) return ended(start(process.execPath, [child, 'open', path], nobody))
    return ended(node('open', path))
  }
  const refused = (path: string) => ({
    code: 1,
    said: { code: 'STORE_READ_ONLY', message: expect.stringContaining(path) },
  })

  test('a directory that is read-only', async () => {
    const folder = newFolder()
    chmodSync(folder, 0o555)
    const path = join(folder, 'runs.db')
    expect(await asNobody(path)).toMatchObject(refused(path))
    expect(contents(folder)).toEqual({})
    chmodSync(folder, 0o755)
  })

  test('a file that is read-only', async () => {
    const path = newPath()
    await using(path, async (store) => void (await store.start(newRun())))
    const folder = dirname(path)
    if (isRoot) chownSync(folder, nobody, nobody)
    chmodSync(folder, 0o755)
    chmodSync(path, 0o444)
    const before = contents(folder)
    expect(await asNobody(path)).toMatchObject(refused(path))
    expect(contents(folder)).toEqual(before)
  })

  test('a key file that cannot be read', async () => {
    const path = newPath()
    await using(path, async (store) => void (await store.start(newRun())))
    const folder = dirname(path)
    if (isRoot) for (const place of [folder, path]) chownSync(place, nobody, nobody)
    else chmodSync(`${path}.key`, 0)
    const before = isRoot ? contents(folder) : {}
    const said = { code: 'STORE_KEY_MISSING', message: expect.stringContaining(`${path}.key`) }
    expect(await asNobody(path)).toMatchObject({ code: 1, said })
    if (isRoot) expect(contents(folder)).toEqual(before)
  })
})

describe('a full disk', () => {
  // A small file system of the child's own: a private mount needs root, or a user namespace.
  const unshare = isRoot ? ['-m'] : ['-rm']
  const can = () => {
    try {
      execFileSync('unshare', [...unshare, 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt'])
      return true
    } catch {
      return false
    }
  }

  test.skipIf(!can())(
    'says so (needs unshare and tmpfs), and the same commit lands later (I4)',
    async () => {
      const folder = newFolder()
      const script = `mount -t tmpfs -o size=4m tmpfs "$1" && exec "$2" "$3" fill "$1/runs.db"`
      const args = [...unshare, 'sh', '-c', script, 'sh', folder, process.execPath, child]
      expect(await ended(start('unshare', args))).toMatchObject({
        code: 0,
        said: {
          ...{ code: 'STORE_FULL', retryable: true, readable: 'running' },
          ...{ again: 'done', after: 'done', whole: true },
        },
      })
    },
  )
})

describe('death and boot', () => {
  test('I9 a worker of another boot is dead, since it was first noticed', async () => {
    const path = newPath()
    await using(path, async (store, clock) => {
      const other = { pid: 1, host: 'here', startedAt: 1, socketPath: null, socketInode: null }
      await store.register({ workerId: 'old', bootId: 'another boot', ...other }, 60_000)
      await store.register({ workerId: 'new', bootId: bootId(), ...other }, 60_000)
      await store.start(newRun())
      raw(path, (db) => db.exec("update runs set state = 'running', worker_id = 'old', fence = 1"))
      clock.advance(5)
      const [taken] = await store.claim({ workerId: 'new', graphs, countMax: 1 })
      expect(taken).toMatchObject({ runId: 'r1', fence: 2, workerId: 'new' })
      const { items } = await store.listEvents(ref(), {})
      expect(items.at(-1)).toMatchObject({
        kind: 'taken_over',
        data: { from: 'old', cause: 'boot' },
      })
      if (taken === undefined) return
      const attempts = [attempt(1, { workerId: 'old', dispatchedAt: 1 })]
      await store.commit([commitOf(taken, 'c1', { attempts, events: [event('x')] })])
      const noticed = clock.now()
      expect([...((await store.load(ref()))?.deaths ?? [])]).toEqual([['old', noticed]])
      clock.advance(5)
      expect([...((await store.load(ref()))?.deaths ?? [])]).toEqual([['old', noticed]])
    })
  })

  test('I9 at open, everyone of another boot is noticed', async () => {
    const path = newPath()
    await using(path, async (store) => {
      const other = { pid: 1, host: 'here', startedAt: 1, socketPath: null, socketInode: null }
      await store.register({ workerId: 'old', bootId: 'another boot', ...other }, 60_000)
    })
    await using(path, async (store, clock) => {
      const [old] = await store.workers()
      expect(old).toMatchObject({ diedAt: clock.now(), expired: true })
      expect(await store.listRuns({ namespace })).toMatchObject({ items: [] })
    })
  })
})
