// Keys after the first: rotation, crashes in the middle of it, several processes, forged ids, and
// keys that are given from outside.
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'tsdown'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Run } from '../../../src/model/run/records.ts'
import { bootId } from '../../../src/store/boot.ts'
import type { Store } from '../../../src/store/store.ts'
import {
  commitOf,
  decision,
  graphs,
  newRun,
  record,
  ref,
  settled,
} from '../../../src/testing/store/fixtures.ts'
import { contents, ended, newFolder, newPath, raw, start, using } from '../bench.ts'

const keyLines = (path: string) => readFileSync(`${path}.key`, 'utf8').trim().split('\n')
const keyIds = (path: string) => keyLines(path).map((line) => line.split(' ')[0])
const checkIds = (path: string) =>
  raw(path, (db) =>
    db
      .prepare("select substr(name, 11) from meta where name glob 'key_check:*' order by rowid")
      .pluck()
      .all(),
  )
const macIds = (path: string) =>
  raw(path, (db) =>
    db
      .prepare("select substr(mac, 1, instr(mac, ':') - 1) from tool_call_results order by rowid")
      .pluck()
      .all(),
  )

/** A run that is held, whose calls can be settled one by one. */
async function holder(store: Store): Promise<{ settle: (nth: number) => Promise<void> }> {
  const other = { pid: 1, host: 'here', startedAt: 1, socketPath: null, socketInode: null }
  await store.register({ workerId: 'w_1', bootId: bootId(), ...other }, 60_000)
  await store.start(newRun())
  const [run] = (await store.claim({ workerId: 'w_1', graphs, countMax: 1 })) as [Run]
  return {
    settle: async (nth) => {
      const records = [settled(record(nth))]
      expect(await store.commit([commitOf(run, `c${nth}`, { records })])).toEqual(['done'])
    },
  }
}

const verified = async (store: Store) =>
  (await store.listRecords(ref(), {})).items.map((row) => row.verifies)

describe('rotation', () => {
  test('B8 the new key signs, rows of the old one verify, and all are needed to open', async () => {
    const path = newPath()
    await using(path, async (store) => {
      const { settle } = await holder(store)
      await settle(1)
      expect(await store.rotateKey()).toBe('k2')
      await settle(2)
      expect(await store.rotateKey()).toBe('k3')
      await settle(3)
      expect(await verified(store)).toEqual([true, true, true])
    })
    expect(macIds(path)).toEqual(['k1', 'k2', 'k3'])
    expect(new Set(keyLines(path).map((line) => line.split(' ')[1])).size).toBe(3)
    for (const line of keyLines(path)) expect(line).toMatch(/^k[123] [0-9a-f]{64}$/)
    expect(statSync(`${path}.key`).mode & 0o777).toBe(0o600)
    expect(readdirSync(dirname(path)).sort()).toEqual([
      ...['runs.db', 'runs.db.key', 'runs.db.witness'],
    ])
    await using(path, async (store) => expect(await verified(store)).toEqual([true, true, true]))

    const whole = keyLines(path)
    writeFileSync(`${path}.key`, `${whole[0]}\n${whole[2]}\n`)
    const missing = { code: 'STORE_KEY_MISSING', message: expect.stringContaining('k2') }
    await expect(using(path, async () => {})).rejects.toMatchObject(missing)
  })

  test('B8 ids go on from the highest, whatever else is in the file', async () => {
    const path = newPath()
    await using(path, async () => {})
    const more = `k7 ${'d'.repeat(64)}\nmine ${'e'.repeat(64)}\n`
    writeFileSync(`${path}.key`, `${keyLines(path)[0]}\n${more}`)
    await using(path, async (store) => expect(await store.rotateKey()).toBe('k8'))
    expect(keyIds(path)).toEqual(['k1', 'k7', 'mine', 'k8'])
    expect(checkIds(path)).toEqual(['k1', 'k7', 'mine', 'k8'])
  })

  test('B8 a link to the key file stays a link, and its owner keeps the file', async () => {
    const path = newPath()
    await using(path, async () => {})
    const real = join(newFolder(), 'secret')
    renameSync(`${path}.key`, real)
    symlinkSync(real, `${path}.key`)
    const uid = process.getuid?.() === 0 ? 65_534 : statSync(real).uid
    chownSync(real, uid, statSync(real).gid)
    await using(path, async (store) => void (await store.rotateKey()))
    expect(lstatSync(`${path}.key`).isSymbolicLink()).toBe(true)
    expect(statSync(real)).toMatchObject({ uid, mode: 0o100600 })
    expect(keyIds(path)).toEqual(['k1', 'k2'])
  })

  test('B8 a file that cannot be replaced refuses it, and nothing is changed', async () => {
    const path = newPath()
    await using(path, async (store) => {
      const { settle } = await holder(store)
      mkdirSync(`${path}.key.next`)
      const refusal = { code: 'STORE_READ_ONLY', message: expect.stringContaining(`${path}.key`) }
      await expect(store.rotateKey()).rejects.toMatchObject(refusal)
      await settle(1)
      rmSync(`${path}.key.next`, { recursive: true })
      chmodSync(`${path}.key`, 0o644)
      await expect(store.rotateKey()).rejects.toMatchObject({ code: 'STORE_KEY_EXPOSED' })
      rmSync(`${path}.key`)
      await expect(store.rotateKey()).rejects.toMatchObject({ code: 'STORE_KEY_MISSING' })
      await settle(2)
    })
    expect(existsSync(`${path}.key`)).toBe(false)
    expect(checkIds(path)).toEqual(['k1'])
    expect(macIds(path)).toEqual(['k1', 'k1'])
  })
})

describe('a crash in the middle', () => {
  /** The database refuses the check value: what a crash after the file's rename leaves behind. */
  async function crashed(path: string, store: Store): Promise<void> {
    const stop = `create trigger stop before insert on meta when new.name = 'key_check:k2'
      begin select raise(abort, 'row is final: crash'); end`
    raw(path, (db) => db.exec(stop))
    await expect(store.rotateKey()).rejects.toMatchObject({ code: 'ROW_IMMUTABLE' })
    raw(path, (db) => db.exec('drop trigger stop'))
    expect([keyIds(path), checkIds(path)]).toEqual([['k1', 'k2'], ['k1']])
  }

  test('B8 between key file and check value: the next to open takes the key in', async () => {
    const path = newPath()
    await using(path, async (store) => {
      const { settle } = await holder(store)
      await crashed(path, store)
      await settle(1)
      await using(path, async () => expect(checkIds(path)).toEqual(['k1', 'k2']))
      await settle(2)
    })
    expect(macIds(path)).toEqual(['k1', 'k1'])
    await using(path, async (store) => expect(await verified(store)).toEqual([true, true]))
  })

  test('B8 between key file and check value: the next rotation takes the key in', async () => {
    const path = newPath()
    await using(path, async (store) => {
      await crashed(path, store)
      expect(await store.rotateKey()).toBe('k3')
    })
    expect([keyIds(path), checkIds(path)]).toEqual([
      ['k1', 'k2', 'k3'],
      ['k1', 'k2', 'k3'],
    ])
  })

  test('B8 before the rename: what was left is neither used nor in the way', async () => {
    const path = newPath()
    await using(path, async (store) => {
      writeFileSync(`${path}.key.next`, 'half a ke', { mode: 0o644 })
      expect(await store.rotateKey()).toBe('k2')
    })
    expect(statSync(`${path}.key`).mode & 0o777).toBe(0o600)
    expect(readdirSync(dirname(path)).sort()).toEqual([
      ...['runs.db', 'runs.db.key', 'runs.db.witness'],
    ])
  })
})

describe('a store that was open before the rotation', () => {
  test('B8 verifies rows of the new key, and signs with it from then on', async () => {
    const path = newPath()
    await using(path, async (before) => {
      const { settle } = await holder(before)
      await settle(1)
      await using(path, async (store) => void (await store.rotateKey()))
      await settle(2)
      await using(path, async (store) => {
        const run = { ...newRun().run, fence: 1, workerId: 'w_1' }
        const commit = commitOf(run, 'c3', { records: [settled(record(3))] })
        expect(await store.commit([commit])).toEqual(['done'])
      })
      expect(await verified(before)).toEqual([true, true, true])
      await settle(4)
      expect(await verified(before)).toEqual([true, true, true, true])
    })
    expect(macIds(path)).toEqual(['k1', 'k1', 'k2', 'k2'])
  })

  test('B8 a forged key id does not make it read the file', async () => {
    const path = newPath()
    await using(path, async (store) => {
      const { settle } = await holder(store)
      await settle(1)
      await settle(2)
      raw(path, (db) => {
        db.exec('drop trigger tool_call_results_final')
        db.exec("update tool_call_results set mac = replace(mac, 'k1:', 'k9:') where nth = 1")
      })
      // A look at the file would be an error now.
      rmSync(`${path}.key`)
      expect(await verified(store)).toEqual([false, true])
    })
  })

  test('B8 a key of the store that cannot be had is an error, not a forgery', async () => {
    const path = newPath()
    await using(path, async (store) => {
      const { settle } = await holder(store)
      await using(path, async (other) => {
        await other.rotateKey()
        await settle(1)
      })
      const signed = "update tool_call_results set mac = replace(mac, 'k1:', 'k2:')"
      raw(path, (db) => db.exec(`drop trigger tool_call_results_final; ${signed}`))
      renameSync(`${path}.key`, `${path}.away`)
      const error = { code: 'STORE_KEY_MISSING', retryable: true, details: { id: 'k2' } }
      await expect(verified(store)).rejects.toMatchObject(error)
      await expect(store.load(ref())).rejects.toMatchObject(error)
      renameSync(`${path}.away`, `${path}.key`)
      // The MAC was made with k1, so it is a forgery after all, and now that can be told.
      expect(await verified(store)).toEqual([false])
    })
  })
})

describe('keys given from outside', () => {
  const a = 'a'.repeat(64)
  const b = 'b'.repeat(64)
  const c = 'c'.repeat(64)

  async function made(key: string): Promise<string> {
    const path = newPath()
    await using(path, async (store) => (await holder(store)).settle(1), { key })
    return path
  }

  async function settleMore(path: string, nth: number, key: string): Promise<boolean[]> {
    return using(
      path,
      async (store) => {
        const run = { ...newRun().run, fence: 1, workerId: 'w_1' }
        const commit = commitOf(run, `c${nth}`, { records: [settled(record(nth))] })
        expect(await store.commit([commit])).toEqual(['done'])
        return verified(store)
      },
      { key },
    )
  }

  test('B8 the last signs, all verify, by commas or white space, ids found again', async () => {
    const path = await made(a)
    expect(await settleMore(path, 2, `${a},${b}`)).toEqual([true, true])
    expect(await settleMore(path, 3, ` ${b}\n${a} `)).toEqual([true, true, true])
    expect(await settleMore(path, 4, `${b}, ${a},${b}`)).toEqual([true, true, true, true])
    const [first, second, third, fourth] = macIds(path)
    expect([third, fourth]).toEqual([first, second])
    expect(first).not.toBe(second)
    expect(checkIds(path)).toEqual([first, second])
    expect(existsSync(`${path}.key`)).toBe(false)
  })

  test('B8 a new key may follow the one that lies in a file', async () => {
    const path = newPath()
    await using(path, async (store) => (await holder(store)).settle(1))
    const old = keyLines(path)[0]?.split(' ')[1] ?? ''
    expect(await settleMore(path, 2, `${old},${b}`)).toEqual([true, true])
    expect(macIds(path)[0]).toBe('k1')
  })

  const wrong: [name: string, key: string, code: string][] = [
    ['none of them known', `${b},${c}`, 'STORE_KEY_WRONG'],
    ['one forgotten', `${b},${c}`, 'STORE_KEY_MISSING'],
    ['no digits', `${a},short`, 'STORE_KEY_WRONG'],
    ['nothing', ' , ', 'STORE_KEY_WRONG'],
  ]
  test.each(wrong)('B8 refused, and nothing changed: %s', async (name, key, code) => {
    const path = await made(a)
    if (name === 'one forgotten') await settleMore(path, 2, `${a},${b}`)
    const before = contents(dirname(path))
    const refusal = { code, message: expect.stringContaining(path) }
    await expect(using(path, async () => {}, { key })).rejects.toMatchObject(refusal)
    expect(contents(dirname(path))).toEqual(before)
  })

  test('B8 cannot be rotated from within, and the error says where instead', async () => {
    const path = await made(a)
    const before = contents(dirname(path))
    await using(
      path,
      async (store) => {
        const says = expect.stringContaining('COUNTERFOIL_KEY')
        const refusal = { code: 'STORE_KEY_GIVEN', retryable: false, message: says }
        await expect(store.rotateKey()).rejects.toMatchObject(refusal)
      },
      { key: a },
    )
    expect(contents(dirname(path))).toEqual(before)
  })

  test('B8 whoever has not been given the new one yet takes nothing for a forgery', async () => {
    const path = await made(a)
    await using(
      path,
      async (store) => {
        await settleMore(path, 2, `${a},${b}`)
        const error = { code: 'STORE_KEY_MISSING', message: expect.stringContaining('give') }
        await expect(verified(store)).rejects.toMatchObject(error)
      },
      { key: a },
    )
  })
})

describe('several processes', () => {
  const root = fileURLToPath(new URL('../../..', import.meta.url))
  const cache = join(root, 'node_modules', '.cache')
  let folder = ''

  // The store as one file, for programs that are given as text.
  beforeAll(async () => {
    mkdirSync(cache, { recursive: true })
    folder = mkdtempSync(join(cache, 'store-key-'))
    const entry = join(newFolder(), 'store.ts')
    const from = (path: string) => `from ${JSON.stringify(join(root, path))}\n`
    writeFileSync(
      entry,
      `export { openSqlite } ${from('src/store/sqlite/index.ts')}` +
        `export { bootId } ${from('src/store/boot.ts')}` +
        `export { systemClock, pause } ${from('src/clock.ts')}` +
        `export * ${from('src/testing/store/fixtures.ts')}`,
    )
    await build({
      config: false,
      cwd: root,
      entry: { store: entry },
      outDir: folder,
      platform: 'node',
      dts: false,
      logLevel: 'silent',
      outputOptions: { codeSplitting: false },
    })
    const migrations = 'src/store/sqlite/migrations'
    cpSync(join(root, migrations), join(folder, 'migrations'), { recursive: true })
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  /** A process that says `ready`, works when `go` is there, and ends by itself. */
  async function run(path: string, programs: readonly string[]) {
    const built = readdirSync(folder).find((name) => /^store\.m?js$/.test(name)) ?? ''
    const children = programs.map((program) => {
      const text = `
        import { existsSync } from 'node:fs'
        import * as s from ${JSON.stringify(join(folder, built))}
        const path = ${JSON.stringify(path)}
        const open = () => s.openSqlite({ path, clock: s.systemClock })
        const go = async () => {
          console.log('ready')
          while (!existsSync(path + '.go')) await s.pause(s.systemClock, 1)
        }
        ${program}`
      return start(process.execPath, ['--input-type=module', '-e', text])
    })
    const ends = children.map(ended)
    const ready = children.map((c) => new Promise((resolve) => c.stdout?.once('data', resolve)))
    await Promise.race([Promise.all(ready), Promise.all(ends)])
    return {
      go: () => writeFileSync(`${path}.go`, ''),
      ends: async () => {
        const all = await Promise.all(ends)
        for (const end of all) expect(end).toMatchObject({ code: 0, errors: '' })
        return all.map((end) => end.said)
      },
    }
  }

  test('B8 that rotate and open at once lose no key, and all get in', async () => {
    const path = newPath()
    await using(path, async () => {})
    const rotate = `await go()
      const store = await open()
      const ids = []
      for (let i = 0; i < 8; i++) ids.push(await store.rotateKey())
      await store.close()
      console.log(JSON.stringify({ ids }))`
    const enter = `await go()
      for (let i = 0; i < 40; i++) await (await open()).close()
      console.log('{}')`
    const { go, ends } = await run(path, [rotate, rotate, enter])
    go()
    const [first, second] = (await ends()) as { ids: string[] }[]
    const ids = [...(first?.ids ?? []), ...(second?.ids ?? [])]
    const all = Array.from({ length: 17 }, (_, i) => `k${i + 1}`)
    expect(['k1', ...ids].sort()).toEqual([...all].sort())
    expect(keyIds(path)).toEqual(all)
    expect(checkIds(path)).toEqual(all)
  }, 300_000)

  test('B8 one writes and reads while another rotates: every row verifies in both', async () => {
    const path = newPath()
    const write = `const store = await open()
      const other = { pid: process.pid, host: 'here', startedAt: 1 }
      const socket = { socketPath: null, socketInode: null }
      await store.register({ workerId: 'w_1', bootId: s.bootId(), ...other, ...socket }, 60_000)
      await store.start(s.newRun())
      const [run] = await store.claim({ workerId: 'w_1', graphs: s.graphs, countMax: 1 })
      await go()
      const bad = []
      let n = 0
      for (; n < 100 || !existsSync(path + '.stop'); n++) {
        const records = [s.settled(s.record(n + 1))]
        const [done] = await store.commit([s.commitOf(run, 'c' + n, { records })])
        if (done !== 'done') bad.push(done)
        const now = await store.load(s.ref())
        bad.push(...now.records.filter((row) => !row.verifies).map((row) => row.nth))
        bad.push(...now.decisions.filter((row) => !row.verifies).map((row) => row.decisionId))
        await s.pause(s.systemClock, 1)
      }
      await store.close()
      console.log(JSON.stringify({ bad, n }))`
    const { go, ends } = await run(path, [write])
    go()
    const wanted = ['k1', 'k2', 'k3', 'k4', 'k5']
    await using(path, async (store) => {
      for (const [i, id] of wanted.entries()) {
        if (i > 0) expect(await store.rotateKey()).toBe(id)
        // A row of the new key, which the writer meets at its next look.
        const decided = decision(`d${i}`)
        const changes = { decisions: [decided] }
        await store.amend(ref(), 'client', () => ({ changes, value: null }))
        const signed = () => macIds(path).includes(id)
        for (let wait = 0; wait < 2_000 && !signed(); wait++) {
          await new Promise((resolve) => setTimeout(resolve, 5))
        }
        expect(signed()).toBe(true)
      }
    })
    writeFileSync(`${path}.stop`, '')
    const [said] = await ends()
    expect(said).toMatchObject({ bad: [] })
    await using(path, async (store) => {
      const now = await store.load(ref())
      expect(now?.records.length).toBe(said?.['n'])
      expect(now?.records.every((row) => row.verifies)).toBe(true)
    })
    expect([...new Set(macIds(path))]).toEqual(wanted)
  }, 300_000)
})
