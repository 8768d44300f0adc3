// B8: the check of a whole ledger. A clean one has no findings; each alteration behind the store's
// back, or by a writer with the key, has its own.
import Database from 'better-sqlite3'
import { describe, expect, test } from 'vitest'

import type { FindingKind } from '../../../src/client/ledger/findings.ts'
import { verifyLedger } from '../../../src/client/ledger/verify.ts'

import { canonical, sha256 } from '../../../src/model/json/canonical.ts'
import { attemptPlace } from '../../../src/model/run/attempt-id.ts'
import { firstCheckpoint, nextCheckpoint } from '../../../src/model/run/checkpoint.ts'
import {
  type Attempt,
  type CallRecord,
  type Decision,
  type Evidence,
  type Item,
  keyOf,
  type Run,
  type Subject,
} from '../../../src/model/run/records.ts'
import { bootId } from '../../../src/store/boot.ts'
import { openMemory } from '../../../src/store/memory/index.ts'
import type { Changes, Store } from '../../../src/store/store.ts'
import { manualClock } from '../../../src/testing/index.ts'
import * as fixture from '../../../src/testing/store/fixtures.ts'
import { newPath, using } from '../../store/bench.ts'

const { namespace, ref } = fixture
const start = 1_700_000_000_000
const at = (seconds: number) => start + seconds * 1_000

function startOf(runId: string) {
  const { run, event } = fixture.newRun(runId, { createdAt: start, updatedAt: start })
  const place = { ...ref(runId), generation: 0, node: 'run', version: '1.0.0', createdAt: start }
  return { run, event: { ...event, at: start }, first: firstCheckpoint(place, { n: 1 }) }
}

async function claimed(store: Store, runId = 'r1'): Promise<Run> {
  const other = { pid: 1, host: 'here', startedAt: 1, socketPath: null, socketInode: null }
  await store.register({ workerId: 'w_1', bootId: bootId(), ...other }, 60_000)
  const { run, event, first } = startOf(runId)
  await store.start({ run, event, checkpoint: first.row })
  const [held] = await store.claim({ workerId: 'w_1', graphs: fixture.graphs, countMax: 1 })
  return held as Run
}

/** A call of tool `t<nth>`, settled unless told, with its input's hash. */
function call(nth: number, more: Partial<CallRecord> = {}): CallRecord {
  const inputJson = canonical({ nth })
  const made = { tool: `t${nth}`, inputJson, inputHash: sha256(inputJson), createdAt: at(nth) }
  const own = { ...made, spanId: `s${nth}` }
  return fixture.settled(fixture.record(nth, { ...own, ...more }), {
    settledAt: at(nth + 5),
    ...more,
  })
}

function attemptOf(record: CallRecord, number: number, more: Partial<Attempt> = {}): Attempt {
  const id = attemptPlace(0, 1, keyOf(record), number)
  const made = { attemptId: id, attempt: number, dispatchedAt: record.createdAt + number }
  return fixture.attempt(1, { ...made, ...more })
}

const subjectOf = ({ tool, inputHash, occurrence, nth }: CallRecord): Subject => ({
  ...{ tool, inputHash, occurrence, nth },
})

function decisionOn(record: CallRecord, more: Partial<Decision>): Decision {
  const { nth } = record
  const about = { itemId: `i${nth}`, subject: subjectOf(record), at: at(nth + 3) }
  return fixture.decision(`d${nth}`, { ...about, ...more })
}

const itemOf = ({ itemId, kind, reason }: Decision): Item =>
  fixture.item(itemId, { kind, reason, state: 'decided' })

function evidenceOf(attempt: Attempt, more: Partial<Evidence>): Evidence {
  const about = { attemptId: attempt.attemptId, at: attempt.dispatchedAt + 1_000 }
  return fixture.evidence(1, { ...about, ...more })
}

const c = {
  sent: call(1),
  retried: call(2, { attempt: 2, replayClass: 'idempotent_with_key', idempotencyKey: 'k' }),
  granted: call(3, { attempt: 2 }),
  pure: call(4, { attempt: 2, replayClass: 'pure', inputJson: null }),
  asked: call(5, { tool: 'counterfoil.ask', attempt: 0, inputJson: '{"title":"?","data":1}' }),
  late: call(6),
  edited: call(7, { inputJson: '{"nth":70}' }),
  probed: call(8, { replayClass: 'idempotent_with_key' }),
  open: call(9, { status: 'pending', seq: null, settledAt: null, resultJson: null }),
}
const ended = (seconds: number, outcome: Attempt['outcome']) => ({ endedAt: at(seconds), outcome })
const a = {
  sent: attemptOf(c.sent, 1),
  retried1: attemptOf(c.retried, 1, ended(3, 'not_sent')),
  retried2: attemptOf(c.retried, 2),
  granted1: attemptOf(c.granted, 1),
  granted2: attemptOf(c.granted, 2),
  late: attemptOf(c.late, 1, ended(8, 'landed')),
  edited: attemptOf(c.edited, 1),
  probed: attemptOf(c.probed, 1, ended(9, 'refused')),
  open: attemptOf(c.open, 1),
}
const d = {
  granted: decisionOn(c.granted, { usedBy: a.granted2.attemptId }),
  asked: decisionOn(c.asked, { kind: 'question', reason: null, outcome: 'respond', seq: 5 }),
  edited: decisionOn(c.edited, {
    ...{ kind: 'approval', reason: null, outcome: 'edit', usedBy: a.edited.attemptId },
  }),
}
const told = (kind: string, data: Record<string, unknown>) => ({
  ...fixture.event(kind, 'r1', data),
  at: at(30),
})
const failed = { attempt_id: a.retried1.attemptId, outcome: 'not_sent', message: 'no route' }
const heard = { attemptId: a.late.attemptId, outcome: 'landed', externalId: null }

const clean: Changes = {
  records: Object.values(c),
  attempts: Object.values(a),
  evidence: [evidenceOf(a.late, { seq: 6 })],
  decisions: Object.values(d),
  items: Object.values(d).map(itemOf),
  events: [
    told('call_attempt_failed', failed),
    told('call_attempt_failed', { attempt_id: a.granted1.attemptId, outcome: 'unknown' }),
    told('doubt', { item: 'i3', reason: 'unknown' }),
    told('asked', { item: 'i5' }),
    told('decided', { item: 'i3', outcome: 'did_not_happen' }),
    told('decided', { item: 'i5', outcome: 'respond' }),
    told('evidence', heard),
    told('probed', { tool: 't8', landed: 'yes' }),
  ],
}

function dropTriggers(db: Database.Database): void {
  const names = db.prepare("select name from sqlite_master where type = 'trigger'").pluck()
  for (const name of names.all()) db.exec(`drop trigger ${name}`)
}

/** A store with the clean history, more rows if wanted, and a raw connection beside it. */
async function scene(
  fn: (store: Store, db: Database.Database, run: Run) => Promise<void>,
  more: Changes = {},
  drops = true,
): Promise<void> {
  const path = newPath()
  await using(path, async (store) => {
    const run = await claimed(store)
    const commit = fixture.commitOf(run, 'c1', structuredClone(clean))
    expect(await store.commit([commit])).toEqual(['done'])
    if (Object.keys(more).length > 0) {
      expect(await store.commit([fixture.commitOf(run, 'c2', more)])).toEqual(['done'])
    }
    const db = new Database(path)
    try {
      if (drops) dropTriggers(db)
      await fn(store, db, run)
    } finally {
      db.close()
    }
  })
}

const verify = (store: Store) => verifyLedger(store, { namespace })

/** What is found, as `kind subject`. */
const found = async (store: Store) =>
  (await verify(store)).findings.map(({ kind, subject }) => `${kind} ${subject}`).sort()

const id = (record: CallRecord) => `0#1/${keyOf(record)}`

describe('a clean ledger', () => {
  test('B8 has no findings, everything was looked at, and what cannot show is said', async () => {
    await scene(async (store) => {
      const { limits, ...report } = await verify(store)
      const counts = { runs: 1, calls: 9, attempts: 9, decisions: 3, evidence: 1, checkpoints: 1 }
      expect(report).toEqual({ counts, findings: [], found: 0, moving: [] })
      expect(limits.join()).toMatch(/set back to an earlier form/)
    })
  })

  test('B8 in the memory store has no findings either', async () => {
    const store = openMemory({ clock: manualClock() })
    const run = await claimed(store)
    await store.commit([fixture.commitOf(run, 'c1', structuredClone(clean))])
    expect(await verify(store)).toMatchObject({ counts: { calls: 9 }, findings: [] })
    expect((await verify(store)).limits).toEqual(expect.arrayContaining([...store.caveats]))
  })
})

describe('rows altered behind the back of the store', () => {
  const where = (attempt: Attempt) => `where attempt_id = '${attempt.attemptId}'`
  const of = (record: CallRecord) => `where tool_name = '${record.tool}'`
  const forged: [name: string, sql: string, found: string[]][] = [
    [
      'a result',
      `update tool_call_results set result_json = '1' ${of(c.sent)}`,
      [`mac ${id(c.sent)}`],
    ],
    [
      'the end of an attempt',
      `update tool_call_attempts set outcome = 'landed' ${where(a.probed)}`,
      [`mac ${a.probed.attemptId}`],
    ],
    ['a decision', "update decisions set why = 'x' where decision_id = 'd3'", ['mac d3']],
    ['evidence', "update call_evidence set result_json = '1'", [`mac ${a.late.attemptId}`]],
    [
      'an attempt is removed',
      `update tool_call_results set dispatched_at = null ${of(c.sent)}`,
      [`attempt ${a.sent.attemptId}`],
    ],
    [
      'an attempt is removed that an event tells of',
      `delete from tool_call_attempts ${where(a.retried1)}`,
      [`attempt ${a.retried1.attemptId}`, `event ${a.retried1.attemptId}`],
    ],
    [
      'an attempt is removed that has used a grant',
      `delete from tool_call_attempts ${where(a.granted2)}`,
      [`attempt ${a.granted2.attemptId}`, 'decision d3'],
    ],
    [
      'an attempt is removed that evidence is about',
      `delete from tool_call_attempts ${where(a.late)}`,
      ['attempt', 'event', 'evidence'].map((kind) => `${kind} ${a.late.attemptId}`),
    ],
    [
      'an attempt is made to look as if it had not ended',
      `update tool_call_attempts set ended_at = null, outcome = null ${where(a.retried1)}`,
      [`event ${a.retried1.attemptId}`],
    ],
    [
      'the number of an open attempt',
      `update tool_call_attempts set attempt = 3 ${where(a.granted2)}`,
      [`attempt ${a.granted2.attemptId}`],
    ],
    [
      'an attempt is made up',
      `insert into tool_call_attempts (namespace, workflow_id, attempt_id, attempt, fence,
        worker_id, outlives, quiet_ms, dispatched_at)
        select namespace, workflow_id, '${id(c.sent)}/2', 2, fence,
        worker_id, outlives, quiet_ms, dispatched_at
        from tool_call_results ${of(c.sent)}`,
      [`attempt ${id(c.sent)}/2`],
    ],
    [
      'an attempt is made up that the row of its call contradicts',
      `insert into tool_call_attempts (namespace, workflow_id, attempt_id, attempt, fence,
        worker_id, outlives, quiet_ms, dispatched_at)
        select namespace, workflow_id, '${a.sent.attemptId}', 1, fence,
        worker_id, outlives, 0, dispatched_at
        from tool_call_results ${of(c.sent)}`,
      [`mac ${a.sent.attemptId}`],
    ],
    // One that was sent once, and heard of as landed, takes its only attempt along.
    [
      'a call is removed',
      `delete from tool_call_results ${of(c.retried)}`,
      [`call ${id(c.retried)}`],
    ],
    [
      'a call is removed that a decision is about',
      `delete from tool_call_results ${of(c.granted)}`,
      [`call ${id(c.granted)}`, 'decision d3'],
    ],
    ['a decision is removed', "delete from decisions where decision_id = 'd5'", ['event i5']],
    [
      'an item is removed',
      "delete from inbox_items where item_id = 'i3'",
      ['decision d3', 'event i3', 'event i3'],
    ],
    [
      'the time of an open attempt',
      `update tool_call_results set dispatched_at = dispatched_at - 3600000 ${of(c.open)}`,
      [`time ${a.open.attemptId}`, `time ${a.open.attemptId}`],
    ],
    [
      'the sender of an open attempt',
      `update tool_call_attempts set worker_id = 'w_9' ${where(a.granted2)}`,
      [`holder ${id(c.granted)}`, `holder ${a.granted2.attemptId}`],
    ],
    ['the state', `update checkpoints set body_json = '{"n":2}'`, ['checkpoint 0#1']],
    ['the place of the run', 'update runs set visit = 2', ['checkpoint 0#2']],
  ]
  test.each(forged)('B8 are found: %s', async (_name, sql, expected) => {
    await scene(async (store, db) => {
      expect(await found(store)).toEqual([])
      db.exec(sql)
      expect(await found(store)).toEqual([...expected].sort())
    })
  })

  const everywhere: [name: string, sql: string, kind: FindingKind, count: number][] = [
    ['the claim is removed', "delete from events where kind = 'claimed'", 'holder', 18],
    ['the fence is set back', 'update runs set fence = 0', 'holder', 18],
    ['the run is made younger', 'update runs set created_at = created_at + 1e9', 'time', 12],
  ]
  test.each(everywhere)('B8 are found in every row: %s', async (_name, sql, kind, count) => {
    await scene(async (store, db) => {
      db.exec(sql)
      const { findings } = await verify(store)
      expect(findings.map((finding) => finding.kind)).toEqual(Array(count).fill(kind))
    })
  })

  test('B8 a record set back to its first form and MAC is contradicted', async () => {
    const attack = async (store: Store, db: Database.Database, run: Run) => {
      const first = call(20, { status: 'pending', seq: null, settledAt: null, resultJson: null })
      const second = { ...first, attempt: 2 }
      const put = (commitId: string, records: CallRecord[], attempts: Attempt[]) =>
        store.commit([fixture.commitOf(run, commitId, { records, attempts })])
      await put('c2', [first], [attemptOf(first, 1)])
      const old = db.prepare("select * from tool_call_results where tool_name = 't20'").get()
      await put('c3', [second], [attemptOf(first, 2)])
      expect(await found(store)).toEqual([])
      dropTriggers(db)
      const { attempt, mac, seq } = old as { attempt: number; mac: string; seq: null }
      db.prepare(
        "update tool_call_results set attempt = ?, mac = ?, seq = ? where tool_name = 't20'",
      ).run(attempt, mac, seq)
      expect(await found(store)).toEqual([`attempt ${id(first)}/2`])
    }
    await scene(attack, {}, false)
  })
})

describe('rows that are signed and cannot be true', () => {
  const x = call(20, { seq: 20 })
  const unknownWorker = call(20, { seq: 20, workerId: 'w_9' })
  const early = call(20, { seq: 20, settledAt: at(-3_600) })
  const cases: [name: string, changes: Changes, found: string[]][] = [
    [
      'an input that is not the one it is known by',
      { records: [call(20, { seq: 20, inputJson: '{}' })], attempts: [attemptOf(x, 1)] },
      [`input ${id(x)}`],
    ],
    [
      'two results in one place of the order',
      { records: [call(20, { seq: 1 })], attempts: [attemptOf(x, 1)] },
      [`seq ${id(x)}`],
    ],
    [
      'a decision in the place of another call',
      {
        decisions: [decisionOn(x, { seq: 1, reason: 'drift', outcome: 'happened' })],
        items: [fixture.item('i20')],
      },
      [`seq ${id(c.sent)}`],
    ],
    [
      'done, by an attempt that was refused',
      { records: [x], attempts: [attemptOf(x, 1, ended(22, 'refused'))] },
      [`outcome ${id(x)}`],
    ],
    [
      'settled before it was made',
      { records: [early], attempts: [attemptOf(x, 1)] },
      [`time ${attemptOf(x, 1).attemptId}`, `time ${id(x)}`, `time ${id(x)}`],
    ],
    [
      'ended before it was dispatched',
      { records: [x], attempts: [attemptOf(x, 1, ended(-3_600, 'landed'))] },
      [`time ${attemptOf(x, 1).attemptId}`],
    ],
    [
      'known before it was dispatched',
      {
        records: [{ ...x, seq: 21 }],
        attempts: [attemptOf(x, 1)],
        evidence: [evidenceOf(attemptOf(x, 1), { at: at(-3_600), seq: 21 })],
      },
      [`time ${attemptOf(x, 1).attemptId}`],
    ],
    [
      'recorded by another than it was sent by',
      { records: [unknownWorker], attempts: [attemptOf(x, 1)] },
      [`holder ${id(x)}`, `holder ${id(x)}`],
    ],
    [
      'a grant that no attempt has used',
      {
        decisions: [
          decisionOn(c.sent, { usedBy: '0#1/t1/none/0/2', itemId: 'i3', decisionId: 'dx' }),
        ],
      },
      ['decision dx'],
    ],
    [
      'a decision to use a record that is not there',
      {
        decisions: [
          decisionOn(c.sent, { reason: 'drift', outcome: 'use_record', record: subjectOf(x) }),
        ],
        items: [fixture.item('i1')],
      },
      ['decision d1'],
    ],
  ]
  test.each(cases)('B8 are found: %s', async (_name, changes, expected) => {
    await scene(async (store) => {
      expect(await found(store)).toEqual([...expected].sort())
    }, structuredClone(changes))
  })

  test('B8 a refusal is explained by a decision, a probe or evidence alone', async () => {
    const rows = { records: [x], attempts: [attemptOf(x, 1, ended(22, 'refused'))] }
    const decided = decisionOn(x, { outcome: 'happened', seq: 20 })
    const explained: Changes[] = [
      { ...rows, decisions: [decided], items: [fixture.item('i20')] },
      { ...rows, events: [told('probed', { tool: 't20', landed: 'yes' })] },
      { ...rows, evidence: [evidenceOf(attemptOf(x, 1), { seq: 20 })] },
    ]
    for (const changes of explained) {
      await scene(async (store) => {
        expect(await found(store)).toEqual([])
      }, structuredClone(changes))
    }
    const voided = { ...decided, voidedAt: at(30), seq: null }
    const vain = {
      ...rows,
      ...{ decisions: [voided], items: [fixture.item('i20')] },
      events: [told('probed', { tool: 't20', landed: 'no' })],
    }
    await scene(async (store) => {
      expect(await found(store)).toEqual([`outcome ${id(x)}`])
    }, structuredClone(vain))
  })

  test('B8 a question may have used a decision without being sent', async () => {
    const usedBy = `${id(c.asked)}/0`
    const send = { reason: 'drift', outcome: 'send', usedBy, decisionId: 'ds' } as const
    const changes = { decisions: [decisionOn(c.asked, send)] }
    await scene(async (store) => {
      expect(await found(store)).toEqual([])
    }, changes)
  })
})

describe('checkpoints', () => {
  test('B8 the chain that the run stands on is read, whichever row of it is altered', async () => {
    await scene(async (store, db, run) => {
      const { first } = startOf('r1')
      const place = { ...ref(), generation: 0, version: '1.0.0', createdAt: at(1) }
      const second = nextCheckpoint(first, { ...place, visit: 2, node: 'b' }, { n: 1, m: [1] })
      const third = nextCheckpoint(second, { ...place, visit: 3, node: 'c' }, { n: 1, m: [1, 2] })
      const checkpoints = [second.row, third.row]
      const changes = { checkpoints, run: { node: 'c', visit: 3 } }
      expect(await store.commit([fixture.commitOf(run, 'c2', changes)])).toEqual(['done'])
      expect(await verify(store)).toMatchObject({ counts: { checkpoints: 3 }, findings: [] })
      for (const visit of [1, 2, 3]) {
        const body = db.prepare('select body_json from checkpoints where visit = ?').pluck()
        const was = body.get(visit)
        const put = db.prepare('update checkpoints set body_json = ? where visit = ?')
        put.run('{"n":7}', visit)
        expect(await found(store)).toEqual(['checkpoint 0#3'])
        put.run(was, visit)
      }
      db.exec('delete from checkpoints where visit = 2')
      expect(await found(store)).toEqual(['checkpoint 0#3'])
    })
  })

  test('B8 one of a newer format is told as that, and the rest is checked', async () => {
    await scene(async (store, db) => {
      db.exec('update checkpoints set schema_version = 99')
      db.exec("update decisions set why = 'x' where decision_id = 'd3'")
      const { findings } = await verify(store)
      expect(findings.map(({ kind }) => kind)).toEqual(['checkpoint', 'mac'])
      expect(findings[0]?.message).toMatch(/upgrade/)
    })
  })
})

describe('how it is asked', () => {
  test('B8 of one run or of a namespace; a run that is not there is an error', async () => {
    await scene(async (store, db) => {
      const { run, event, first } = startOf('r2')
      await store.start({ run, event, checkpoint: first.row })
      await store.start({ run: { ...run, namespace: 'other' }, event, checkpoint: null })
      db.exec("update checkpoints set body_json = '7' where run_id = 'r2'")
      const counted: number[] = []
      const onProgress = (runs: number) => void counted.push(runs)
      const all = await verifyLedger(store, { namespace, onProgress })
      expect(all.findings.map(({ runId, kind }) => [runId, kind])).toEqual([['r2', 'checkpoint']])
      expect(counted).toEqual([1, 2])
      expect(await verifyLedger(store, { namespace, runId: 'r1' })).toMatchObject({ found: 0 })
      expect(await verifyLedger(store, { namespace, runId: 'r2' })).toMatchObject({ found: 1 })
      expect(await verifyLedger(store, { namespace: 'none' })).toMatchObject({
        counts: { runs: 0 },
      })
      const missing = verifyLedger(store, { namespace, runId: 'r3' })
      await expect(missing).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' })
    })
  })

  test('B8 more runs and rows than a page', async () => {
    await using(newPath(), async (store) => {
      const held = await claimed(store)
      const calls = Array.from({ length: 1_100 }, (_, i) => call(i + 1))
      const attempts = calls.map((record) => attemptOf(record, 1))
      await store.commit([fixture.commitOf(held, 'c1', { records: calls, attempts })])
      for (let i = 0; i < 600; i++) {
        const { run, event, first } = startOf(`s${i}`)
        await store.start({ run, event, checkpoint: first.row })
      }
      const { counts, found: count } = await verify(store)
      expect([counts.runs, counts.calls, counts.attempts, count]).toEqual([601, 1_100, 1_100, 0])
    })
  })

  test('B8 findings beyond the wanted number are counted and not kept', async () => {
    await scene(async (store, db) => {
      db.exec("update tool_call_results set external_id = 'x'")
      const report = await verifyLedger(store, { namespace, findingsMax: 4 })
      expect([report.found, report.findings.length]).toEqual([9, 4])
    })
  })

  test('B8 a run that changes meanwhile is looked at again: no half truths', async () => {
    await scene(async (store, db, run) => {
      db.exec("update decisions set why = 'x' where decision_id = 'd3'")
      let changes = 0
      // Between the look at the attempts and the look at the records a call comes to its end.
      const busy = (times: number): Store => ({
        ...store,
        listRecords: async (of, page) => {
          if (changes < times) {
            const record = call(100 + changes, { seq: 100 + changes })
            const rows = { records: [record], attempts: [attemptOf(record, 1)] }
            const commit = fixture.commitOf(run, `b${changes++}`, rows)
            expect(await store.commit([commit])).toEqual(['done'])
          }
          return store.listRecords(of, page)
        },
      })
      const still = await verify(busy(1))
      expect([still.findings.map(({ kind }) => kind), still.moving]).toEqual([['mac'], []])
      const moving = await verify(busy(1_000))
      expect([moving.findings.map(({ kind }) => kind), moving.moving]).toEqual([['mac'], ['r1']])
    })
  })
})
