// What the fleet asks of the file: a lease is renewed from beside, and what retention takes it
// takes with the guards in place.
import { copyFileSync, existsSync, renameSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import * as limits from '../../../src/model/limits.ts'
import { bootId } from '../../../src/store/boot.ts'
import { openSqlite } from '../../../src/store/sqlite/index.ts'
import { openRenewer } from '../../../src/store/sqlite/renewer.ts'
import type { Store } from '../../../src/store/store.ts'
import {
  attempt,
  commitOf,
  graphs,
  newRun,
  record,
  ref,
  settled,
  worker,
} from '../../../src/testing/store/fixtures.ts'
import { newPath, raw, using } from '../bench.ts'

const newWorker = (workerId: string) => ({
  ...{ workerId, pid: 1, host: 'here', bootId: bootId(), startedAt: 1 },
  ...{ socketPath: null, socketInode: null },
})

describe('renewing from beside', () => {
  const store = (path: string) => openSqlite({ path, clock: systemClock })
  const until = async (s: Store) => (await s.workers())[0]?.leaseUntil ?? 0

  test('D2 a lease is renewed by a connection of its own', async () => {
    const path = newPath()
    const s = await store(path)
    await s.register(newWorker(worker), 1_000)
    const renewer = await openRenewer({ path, place: null })
    const before = await until(s)
    expect(await renewer.renew(worker, 90_000)).toBe(true)
    expect(await until(s)).toBeGreaterThan(before + 80_000)
    await renewer.close()
    await expect(renewer.renew(worker, 1)).rejects.toMatchObject({ code: 'STORE_CLOSED' })
    await s.close()
  })

  test('D2 who has stopped, is dead or was never there is not renewed', async () => {
    const path = newPath()
    const s = await store(path)
    for (const id of ['w_2', 'w_3']) await s.register(newWorker(id), 1_000)
    await s.stopWorker('w_2', true)
    await s.declareDead('w_3', 'gone')
    const renewer = await openRenewer({ path, place: null })
    const renewed = ['w_2', 'w_3', 'w_9'].map((id) => renewer.renew(id, 1_000))
    expect(await Promise.all(renewed)).toEqual([false, false, false])
    await renewer.close()
    await s.close()
  })

  test('I12 nor is anybody, once the file is another one', async () => {
    const path = newPath()
    const s = await store(path)
    await s.register(newWorker(worker), 1_000)
    const renewer = await openRenewer({ path, place: null })
    raw(path, (db) => db.pragma('wal_checkpoint(truncate)'))
    copyFileSync(path, `${path}.copy`)
    renameSync(`${path}.copy`, path)
    expect(await renewer.renew(worker, 1_000)).toBe(false)
    await renewer.close()
    await s.close()
  })

  test('a file that is missing is told in our words, and is not made', async () => {
    const path = newPath()
    const renewer = openRenewer({ path, place: null })
    await expect(renewer).rejects.toMatchObject({ code: 'STORE_READ_ONLY' })
    expect(existsSync(path)).toBe(false)
  })

  test('from TypeScript sources there is none: a thread could not load it', async () => {
    const s = await store(newPath())
    expect(s.renewal).toBe(null)
    await s.close()
  })
})

describe('retention', () => {
  const keep = { pureMs: 0, keyedMs: 0, unsafeMs: limits.retentionFloorMs }

  /** A run that has completed with three settled calls. */
  async function completed(store: Store): Promise<void> {
    await store.register(newWorker(worker), 60_000)
    await store.start(newRun())
    const [run] = await store.claim({ workerId: worker, graphs, countMax: 1 })
    if (run === undefined) throw new Error('nothing claimed')
    const records = [1, 2, 3].map((nth) => settled(record(nth)))
    const end = { state: 'completed', outputJson: '7', release: true } as const
    await store.commit([commitOf(run, 'c1', { records, attempts: [attempt()], run: end })])
  }

  test('B6 leaves the guards in place: nothing stands in `sweeping` afterwards', async () => {
    const path = newPath()
    await using(path, async (store, clock) => {
      await completed(store)
      clock.advance(keep.unsafeMs)
      expect(await store.retain(keep, 10)).toBe(1)
      raw(path, (db) => {
        expect(db.prepare('select count(*) from sweeping').pluck().get()).toBe(0)
        expect(() => db.exec('delete from runs')).toThrow(/row is final/)
      })
    })
  })

  test('B6 a pass that fails half way has taken nothing', async () => {
    const path = newPath()
    await using(path, async (store, clock) => {
      await completed(store)
      clock.advance(keep.unsafeMs)
      raw(path, (db) =>
        db.exec(`create trigger stop before update of swept on runs
          begin select raise(abort, 'row is final: in the way'); end`),
      )
      await expect(store.retain(keep, 10)).rejects.toMatchObject({ code: 'ROW_IMMUTABLE' })
      expect((await store.listRecords(ref(), {})).items.length).toBe(3)
      raw(path, (db) => db.exec('drop trigger stop'))
      expect(await store.retain(keep, 10)).toBe(1)
      expect((await store.listRecords(ref(), {})).items.length).toBe(0)
    })
  })
})
