// The witness beside a database: what it says, who writes it, and what becomes of it.
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, expect, test } from 'vitest'
import { openSqlite } from '../../../src/store/sqlite/index.ts'
import { manualClock } from '../../../src/testing/index.ts'
import { newRun, ref } from '../../../src/testing/store/fixtures.ts'
import { buildChild, ended, newPath, raw, start, using } from '../bench.ts'

let child = ''
beforeAll(async () => {
  child = await buildChild()
}, 120_000)

const said = (path: string) => Number(readFileSync(`${path}.witness`, 'utf8').split(' ')[2])
const held = (path: string) =>
  raw(path, (db) =>
    Number(db.prepare("select value from meta where name = 'commits'").pluck().get()),
  )
const open = (path: string) => openSqlite({ path, clock: manualClock() })

test('I12 every write moves it forward, whoever writes, and it is never ahead', async () => {
  const path = newPath()
  const [a, b] = [await open(path), await open(path)]
  for (let i = 0; i < 20; i++) await (i % 3 === 0 ? a : b).start(newRun(`r${i}`))
  expect(said(path)).toBe(held(path))
  expect(said(path)).toBeGreaterThanOrEqual(20)
  await Promise.all([a.close(), b.close()])
  expect(statSync(`${path}.witness`)).toMatchObject({ size: 256 })
  expect(statSync(`${path}.witness`).mode & 0o777).toBe(0o600)
})

test('I12 processes that write at once and are killed leave a witness that fits', async () => {
  const path = newPath()
  const racers = ['a', 'b', 'c'].map((id) =>
    start(process.execPath, [child, 'race', path, id, '4000']),
  )
  const ends = racers.map(ended)
  writeFileSync(join(dirname(path), 'go'), '')
  while ((await Promise.resolve(racers)).some((one) => one.pid === undefined)) await sleep(1)
  for (;;) {
    await sleep(5)
    const count = await Promise.resolve()
      .then(() => said(path))
      .catch(() => 0)
    if (count > 200) break
  }
  for (const racer of racers) racer.kill('SIGKILL')
  await Promise.all(ends)
  const [behind, now] = [said(path), held(path)]
  expect(behind).toBeLessThanOrEqual(now)
  // At most what each had committed and not yet written down.
  expect(now - behind).toBeLessThanOrEqual(racers.length)
  await using(path, async (store) => expect(await store.moved()).toBe(null))
})

test('I12 an older store gets one; one that had it and lacks it is asked about', async () => {
  const path = newPath()
  await using(path, async (store) => void (await store.start(newRun())))
  rmSync(`${path}.witness`)
  await using(path, async (store) => expect(await store.moved()).toMatch(/witness .* is missing/))
  raw(path, (db) => db.exec("delete from meta where name = 'commits'"))
  await using(path, async (store) => {
    expect(await store.moved()).toBe(null)
    expect(await store.getRun(ref())).toMatchObject({ state: 'pending' })
  })
  expect(said(path)).toBe(held(path))
})

for (const [name, change] of [
  ['altered', (text: string) => text.replace(/ \d+ /, ' 0 ')],
  ['cut off', (text: string) => text.slice(0, 40)],
  ['empty', () => ''],
  ['of another store', (text: string) => text.replace(/ \w{8}/, ' 00000000')],
] as const) {
  test(`I12 a witness that is ${name} is not believed until an adoption`, async () => {
    const path = newPath()
    await using(path, async (store) => void (await store.start(newRun())))
    const text = readFileSync(`${path}.witness`, 'utf8')
    writeFileSync(`${path}.witness`, change(text))
    await using(path, async (store) => {
      expect(await store.moved()).toMatch(/witness .* cannot be trusted/)
      await store.adopt('ana', 'the disk was full')
      expect(await store.moved()).toBe(null)
    })
    await using(path, async (store) => expect(await store.moved()).toBe(null))
    expect(said(path)).toBe(held(path))
  })
}

test('I12 a database that was emptied beside its witness is no new store', async () => {
  const path = newPath()
  await using(path, async (store) => void (await store.start(newRun())))
  for (const end of ['', '.key']) rmSync(path + end)
  const gone = { code: 'STORE_FILE_MISSING', message: expect.stringContaining('.witness is still') }
  await expect(open(path)).rejects.toMatchObject(gone)
  writeFileSync(path, '')
  await expect(open(path)).rejects.toMatchObject({ code: 'STORE_FILE_MISSING' })
})

test('I12 it is signed with the new key after a rotation, and others can read that', async () => {
  const path = newPath()
  const [a, b] = [await open(path), await open(path)]
  await a.rotateKey()
  await a.start(newRun())
  expect(readFileSync(`${path}.witness`, 'utf8')).toContain(' k2:')
  expect(await b.moved()).toBe(null)
  await b.start(newRun('r2'))
  expect(await a.moved()).toBe(null)
  await Promise.all([a.close(), b.close()])
})
