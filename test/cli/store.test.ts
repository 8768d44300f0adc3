import { createHash } from 'node:crypto'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openDesk, servedDesk } from './desk.ts'
import { folder, json, misfits, run } from './harness.ts'

test('L1 store status says what the store is and what is in it', async () => {
  const { store, path } = await servedDesk(['ana', 'late', 'lost', 'large'])
  const status = await json(['store', 'status', '--store', store])
  expect(status).toMatchObject({
    ...{ store: `sqlite:${path}`, moved: null, caveats: [], key_ids: ['k1'] },
    runs: { waiting_human: 4 },
    open_items: { approval: 3, doubt: 1 },
    overdue_items: 1,
    oldest_doubt: { run_id: 'lost' },
    workers: { alive: 0, silent: 0 },
  })
  expect(status.bytes).toBeGreaterThan(10_000)
  expect(status.blobs.count).toBeGreaterThan(0)
  expect(status.blobs.bytes).toBeGreaterThan(100_000)
  expect(status.migrations[0]).toMatchObject({ id: 1, name: '001_start.sql' })
  const { stdout } = await run(['store', 'status', '--store', store])
  expect(stdout).toMatch(
    /runs +4 waiting_human\ninbox +(1 doubt, 3 approvals|3 .*, 1 doubt); 1 overdue/,
  )
  expect(stdout).toMatch(/doubts +the oldest opened .* of run lost:\n.* inbox show item_/)
  expect(stdout).toMatch(/workers +none alive\n$/)
  expect(misfits(stdout).filter((line) => !/main\.js|\.blobs|sqlite:/.test(line))).toEqual([])
  const other = await json(['store', 'status', '--namespace', 'other', '--store', store])
  expect(other).toMatchObject({ runs: {}, other_namespaces_runs: 4, open_items: {} })
})

test('I12 store status tells of a copy instead of hiding it', async () => {
  const { path } = await servedDesk(['ana'])
  const copy = join(folder(), 'copy.db')
  copyFileSync(path, copy)
  copyFileSync(`${path}.key`, `${copy}.key`)
  const { stdout, stderr, code } = await run(['store', 'status', '--store', `sqlite:${copy}`])
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout.replaceAll(/\s+/g, ' ')).toMatch(/moved the file at .* was copied.*store adopt/)
  const adopt = ['store', 'adopt', '--by', 'ana', '--reason', 'new disk']
  await json([...adopt, '--store', `sqlite:${copy}`])
  const after = await json(['store', 'status', '--store', `sqlite:${copy}`])
  expect(after).toMatchObject({ moved: null, adoptions: [{ by: 'ana', reason: 'new disk' }] })
})

test('L4 store collect removes what nothing refers to, and nothing else', async () => {
  const { store, path } = await servedDesk(['large'])
  const orphan = (text: string, agedS: number) => {
    const digest = createHash('sha256').update(text).digest('hex')
    const place = join(`${path}.blobs`, digest.slice(0, 2))
    mkdirSync(place, { recursive: true })
    const file = join(place, digest)
    writeFileSync(file, text)
    const at = Date.now() / 1_000 - agedS
    utimesSync(file, at, at)
    return file
  }
  const [old, young] = [orphan('of a put that died', 7_200), orphan('on its way', 10)]
  const before = (await json(['store', 'status', '--store', store])).blobs.count
  const swept = await json(['store', 'collect', '--store', store])
  expect(swept).toMatchObject({ removed: 1, kept: before - 1, bytes: 18 })
  expect([existsSync(old), existsSync(young)]).toEqual([false, true])
  const again = await run(['store', 'collect', '--store', store])
  expect(again.stdout).toMatch(/^Nothing to remove: \d+ blobs in /)
  const { state } = await json(['run', 'state', 'large', '--store', store])
  expect(state.draft).toHaveLength(100_005)
})

test('B8 store rotate-key signs with a new key; what the old one signed verifies', async () => {
  const { store, path } = await servedDesk(['ana'])
  expect(await json(['store', 'rotate-key', '--store', store])).toMatchObject({ key_id: 'k2' })
  const text = await run(['store', 'rotate-key', '--store', store])
  expect(text.stdout.replaceAll(/\s+/g, ' ')).toMatch(/^Key k3 signs from now on; .*runs\.db\.key/)
  expect(readFileSync(`${path}.key`, 'utf8').trim().split('\n')).toHaveLength(3)
  const desk = await openDesk(path)
  await desk.start('bo')
  await desk.leave()
  expect(await json(['ledger', 'verify', '--store', store])).toMatchObject({ ok: true })
  const { key_ids } = await json(['store', 'status', '--store', store])
  expect(key_ids).toEqual(['k1', 'k2', 'k3'])
  const keys = readFileSync(`${path}.key`, 'utf8').matchAll(/[0-9a-f]{64}/g)
  const given = { COUNTERFOIL_KEY: [...keys].join(',') }
  const refused = await run(['store', 'rotate-key', '--store', store], given)
  expect(refused.code).toBe(1)
  expect(refused.stderr).toContain('STORE_KEY_GIVEN')
})

test('B7 --blobs names where large values lie, if not beside the store', async () => {
  const place = folder()
  const { store } = await servedDesk(['large'], { blobDir: join(place, 'large-values') })
  const lost = await run(['run', 'state', 'large', '--store', store])
  expect(lost.stderr).toContain('CHECKPOINT_DAMAGED')
  const words = ['run', 'state', 'large', '--store', store]
  const there = await json([...words, '--blobs', join(place, 'large-values')])
  expect(there.state.draft).toHaveLength(100_005)
  const env = { COUNTERFOIL_BLOBS: join(place, 'large-values') }
  expect((await run(words, env)).code).toBe(0)
})
