// Whoever writes past the store: triggers stop slips, the MAC shows the rest (B8).
import Database from 'better-sqlite3'
import { describe, expect, test } from 'vitest'
import { bootId } from '../../../src/store/boot.ts'
import type { Loaded, Store } from '../../../src/store/store.ts'
import {
  attempt,
  commitOf,
  decision,
  event,
  evidence,
  graphs,
  item,
  namespace,
  newRun,
  record,
  ref,
  settled,
  signal,
} from '../../../src/testing/store/fixtures.ts'
import { newPath, using } from '../bench.ts'

/** A store with one of everything, and a raw connection beside it. */
async function scene(fn: (store: Store, db: Database.Database) => Promise<void>): Promise<void> {
  const path = newPath()
  await using(path, async (store) => {
    const other = { pid: 1, host: 'here', startedAt: 1, socketPath: null, socketInode: null }
    await store.register({ workerId: 'w_1', bootId: bootId(), ...other }, 60_000)
    await store.start(newRun())
    const [run] = await store.claim({ workerId: 'w_1', graphs, countMax: 1 })
    if (run === undefined) throw new Error('nothing claimed')
    const changes = {
      records: [settled(record(1)), record(2)],
      attempts: [
        attempt(1, { endedAt: 3_000, outcome: 'landed' }),
        attempt(2, { tokenHash: 't1' }),
      ],
      evidence: [evidence(2)],
      items: [item()],
      decisions: [decision()],
      events: [event('x')],
    } as const
    await store.commit([commitOf(run, 'c1', structuredClone(changes) as never)])
    await store.amend(run, 'client', () => ({
      changes: { signals: [signal(), signal('s2')] },
      value: null,
    }))
    await store.commit([commitOf(run, 'c2', { signals: [signal('s2', { usedBy: 'a1' })] })])
    await store.start(newRun('r2'))
    const [done] = await store.claim({ workerId: 'w_1', graphs, countMax: 1 })
    if (done === undefined) throw new Error('nothing claimed')
    const end = { state: 'completed', outputJson: '1', release: true } as const
    await store.commit([commitOf(done, 'c1', { run: end })])
    await store.adopt('ana', 'for the sake of a row')
    const db = new Database(path)
    try {
      await fn(store, db)
    } finally {
      db.close()
    }
  })
}

async function loaded(store: Store): Promise<Loaded> {
  const now = await store.load(ref())
  if (now === null) throw new Error('no run')
  return now
}

function dropTriggers(db: Database.Database): void {
  const names = db.prepare("select name from sqlite_master where type = 'trigger'").pluck().all()
  for (const name of names) db.exec(`drop trigger ${name}`)
}

describe('triggers', () => {
  const refused: [name: string, sql: string][] = [
    ['a settled call', "update tool_call_results set result_json = '1' where nth = 1"],
    ['a settled call, status', "update tool_call_results set status = 'pending' where nth = 1"],
    ['a settled call, deleted', 'delete from tool_call_results where nth = 1'],
    ['an intent, deleted', 'delete from tool_call_results where nth = 2'],
    ['an intent, its input', "update tool_call_results set input_hash = 'x' where nth = 2"],
    ['an intent, its visit', "update tool_call_results set checkpoint_id = 'x' where nth = 2"],
    ['an intent, its run', "update tool_call_results set workflow_id = 'x' where nth = 2"],
    ['an intent, its time', 'update tool_call_results set created_at = 1 where nth = 2'],
    [
      'an ended attempt',
      "update tool_call_attempts set outcome = 'refused' where ended_at is not null",
    ],
    [
      'an ended attempt, opened',
      'update tool_call_attempts set ended_at = null where ended_at is not null',
    ],
    ['an attempt, deleted', 'delete from tool_call_attempts where ended_at is null'],
    [
      'an attempt, its worker',
      "update tool_call_attempts set worker_id = 'x' where ended_at is null",
    ],
    ['an attempt, its fence', 'update tool_call_attempts set fence = 9 where ended_at is null'],
    ['a decision, its outcome', "update decisions set outcome = 'happened'"],
    ['a decision, its author', "update decisions set decided_by = 'x'"],
    ['a decision, deleted', 'delete from decisions'],
    ['evidence', "update call_evidence set outcome = 'not_sent'"],
    ['evidence, deleted', 'delete from call_evidence'],
    ['an event', "update events set kind = 'y'"],
    ['an event, deleted', 'delete from events'],
    ['an adoption', "update adoptions set reason = 'y'"],
    ['an adoption, deleted', 'delete from adoptions'],
    [
      'a settled call, replaced',
      'insert or replace into tool_call_results select * from tool_call_results where nth = 1',
    ],
    [
      'an ended attempt, replaced',
      `insert or replace into tool_call_attempts
       select namespace, workflow_id, attempt_id, attempt, fence, worker_id, outlives, quiet_ms,
         dispatched_at, null, null, null, token_hash, beat_at, beat_json
       from tool_call_attempts where ended_at is not null`,
    ],
    [
      'an attempt with a token, replaced',
      `insert or replace into tool_call_attempts
       select namespace, workflow_id, attempt_id, attempt, fence, worker_id, outlives, quiet_ms,
         dispatched_at, 't9', beat_at, beat_json, ended_at, outcome, mac
       from tool_call_attempts where token_hash is not null`,
    ],
    ['a token', "update tool_call_attempts set token_hash = 't9' where token_hash is not null"],
    ['a signal, its data', "update signals set data_json = '2'"],
    ['a signal, its name', "update signals set name = 'x'"],
    ['a signal, its time', 'update signals set at = 1'],
    ['a signal, taken twice', "update signals set used_by = 'a2' where used_by is not null"],
    ['a signal, given back', 'update signals set used_by = null where used_by is not null'],
    ['a signal, replaced', 'insert or replace into signals select * from signals'],
    ['a signal, deleted', 'delete from signals'],
    ['a run, deleted', 'delete from runs'],
    ['a run, its parent', "update runs set parent_run_id = 'x'"],
    ['an ended run, what was taken of it', "update runs set swept = 'all' where run_id = 'r2'"],
    ['an ended run, its output', "update runs set output_digest = 'x' where run_id = 'r2'"],
  ]
  for (const [name, sql] of refused) {
    test(`B8 hold still: ${name}`, async () => {
      await scene(async (store, db) => {
        const before = await loaded(store)
        expect(() => db.exec(sql)).toThrow(/row is final/)
        expect(await loaded(store)).toEqual(before)
      })
    })
  }

  test('B8 what may still change can: an intent, an open attempt, a grant', async () => {
    await scene(async (_store, db) => {
      db.exec("update tool_call_results set status = 'in_doubt' where nth = 2")
      db.exec("update tool_call_attempts set beat_at = 8, beat_json = '1'")
      db.exec(
        "update tool_call_attempts set ended_at = 9, outcome = 'unknown' where ended_at is null",
      )
      db.exec('update tool_call_attempts set beat_at = 9')
      db.exec("update signals set used_by = 'a2' where used_by is null")
      db.exec("update decisions set seq = 3, used_by = 'a', voided_at = 4")
      db.exec('update call_evidence set seq = 3')
      expect(() => db.exec('update decisions set seq = 4')).toThrow(/row is final/)
      expect(() => db.exec("update decisions set used_by = 'b'")).toThrow(/row is final/)
      expect(() => db.exec('update decisions set voided_at = null')).toThrow(/row is final/)
      expect(() => db.exec('update call_evidence set seq = null')).toThrow(/row is final/)
    })
  })

  test('the end of a run is final, but for a retry', async () => {
    await scene(async (_store, db) => {
      const update = (set: string) => db.exec(`update runs set ${set} where run_id = 'r1'`)
      update("state = 'failed', error_json = '{}', worker_id = null")
      expect(() => update("state = 'completed'")).toThrow(/row is final/)
      expect(() => update("error_json = '1'")).toThrow(/row is final/)
      expect(() => update('fence = 9')).toThrow(/row is final/)
      update('arrivals = arrivals + 1')
      update("state = 'pending', error_json = null")
    })
  })

  test('B6 of a run that was taken nothing can be tried again', async () => {
    await scene(async (_store, db) => {
      db.exec("update runs set state = 'failed', worker_id = null where run_id = 'r1'")
      db.exec("insert into sweeping values ('default', 'r1')")
      db.exec("update runs set swept = 'all' where run_id = 'r1'")
      db.exec("delete from events where run_id = 'r1'; delete from sweeping")
      expect(() => db.exec('delete from signals')).toThrow(/row is final/)
      const retry = "update runs set state = 'pending' where run_id = 'r1'"
      expect(() => db.exec(retry)).toThrow(/row is final/)
    })
  })
})

describe('MACs', () => {
  const forged: [table: 'records' | 'decisions' | 'evidence' | 'signals', sql: string][] = [
    ['records', `update tool_call_results set result_json = '{"id":"forged"}' where nth = 1`],
    ['records', "update tool_call_results set external_id = 'forged' where nth = 1"],
    ['records', "update tool_call_results set status = 'failed' where nth = 1"],
    ['records', 'update tool_call_results set settled_at = 1 where nth = 1'],
    ['records', "update tool_call_results set worker_id = 'x' where nth = 1"],
    ['records', "update tool_call_results set span_id = 'x' where nth = 1"],
    ['records', 'update tool_call_results set fence = 9 where nth = 1'],
    ['records', 'update tool_call_results set attempt = 9 where nth = 1'],
    ['records', "update tool_call_results set replay_class = 'pure' where nth = 1"],
    ['records', "update tool_call_results set mac = 'k1:AAAA' where nth = 1"],
    ['records', "update tool_call_results set mac = '' where nth = 1"],
    ['records', "update tool_call_results set mac = replace(mac, 'k1', 'k9') where nth = 1"],
    ['decisions', "update decisions set outcome = 'happened'"],
    ['decisions', "update decisions set used_by = 'x'"],
    ['decisions', 'update decisions set made_sure = 1'],
    ['evidence', "update call_evidence set outcome = 'not_sent'"],
    ['evidence', "update call_evidence set result_json = '1'"],
    ['records', 'update tool_call_results set due_at = 9 where nth = 1'],
    ['signals', "update signals set data_json = '2'"],
    ['signals', "update signals set name = 'x'"],
    ['signals', 'update signals set at = 1'],
    [
      'signals',
      "update signals set used_by = null where signal_id = 's2';" +
        " delete from signals where signal_id = 's1'",
    ],
  ]
  for (const [table, sql] of forged) {
    test(`B8 show a forgery: ${sql}`, async () => {
      await scene(async (store, db) => {
        const verifies = async () => (await loaded(store))[table][0]?.verifies
        expect(await verifies()).toBe(true)
        dropTriggers(db)
        db.exec(sql)
        expect(await verifies()).toBe(false)
      })
    })
  }

  test('B8 a token that was put beside, and one that was exchanged, do not verify', async () => {
    await scene(async (store, db) => {
      const verify = async () => (await loaded(store)).attempts.map((row) => row.verifies)
      expect(await verify()).toEqual([true, true])
      dropTriggers(db)
      db.exec("update tool_call_attempts set token_hash = 't' || attempt_id")
      expect(await verify()).toEqual([false, false])
    })
  })

  test('B10 a shared result that was forged is made again, not used', async () => {
    await scene(async (store, db) => {
      const key = { namespace, tool: 'look', inputHash: 'h1' }
      const shared = { resultJson: '1', externalId: null }
      for (const set of ["result_json = '2'", 'until = until + 1', "external_id = 'x'"]) {
        expect(await store.takeShare(key, 'w_1', 1_000)).toEqual({ do: 'make' })
        await store.putShare(key, 'w_1', shared, 60_000)
        expect(await store.takeShare(key, 'w_1', 1_000)).toEqual({ do: 'use', shared })
        db.exec(`update shares set ${set}`)
      }
      expect(await store.takeShare(key, 'w_1', 1_000)).toEqual({ do: 'make' })
    })
  })

  test('B8 a receipt moved to another call, or copied from another, does not verify', async () => {
    await scene(async (store, db) => {
      dropTriggers(db)
      db.exec("update tool_call_results set input_hash = 'h9' where nth = 1")
      const [moved, intent] = (await store.listRecords(ref(), {})).items
      expect([moved?.verifies, intent?.verifies]).toEqual([false, true])
    })
  })
})

describe('load', () => {
  test('stays flat: 10,000 records of earlier visits do not slow it down', async () => {
    await scene(async (store, db) => {
      const time = async () => {
        const samples: number[] = []
        for (let i = 0; i < 30; i++) {
          const begin = process.hrtime.bigint()
          await store.load(ref())
          samples.push(Number(process.hrtime.bigint() - begin) / 1e3)
        }
        return samples.sort((a, b) => a - b)[10] ?? 0
      }
      const before = await time()
      const columns = (db.pragma('table_info(tool_call_results)') as { name: string }[])
        .map(({ name }) => name)
        .map((name) => (name === 'checkpoint_id' ? "'1.0.0#0#' || (n + 2)" : name))
      db.exec(`insert into tool_call_results
        with recursive k (n) as (select 0 union all select n + 1 from k where n < 9999)
        select ${columns.join(', ')} from k cross join (select * from tool_call_results limit 1)`)
      const after = await time()
      expect((await loaded(store)).records.length).toBe(2)
      // A scan of 10,000 rows takes some hundred times as long as this load.
      expect(after).toBeLessThan(before * 5 + 500)
    })
  })
})
