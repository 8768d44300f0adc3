import { sha256 } from '../../model/json/canonical.ts'
import type { GraphRow } from '../../store/store.ts'
import {
  type Bench,
  checkpoint,
  event,
  evidence,
  namespace,
  newRun,
  record,
  ref,
  settled,
} from './fixtures.ts'

export function lookupConcern(bench: Bench): void {
  bench.describe('lookups', () => {
    graphRows(bench)
    keys(bench)
    blobs(bench.of('blobs'))
    late(bench)
  })
}

function graphRow(more: Partial<GraphRow> = {}): GraphRow {
  const content = { fingerprint: 'f1', contentJson: '{"nodes":{}}' }
  return { namespace, name: 'g', version: '1.0.0', ...content, registeredAt: 1_000, ...more }
}

function graphRows({ on, expect }: Bench): void {
  on('F3 the first of a version is the one, whoever comes later', async (s) => {
    expect(await s.store.registerGraph(graphRow())).toEqual(graphRow())
    const other = graphRow({ fingerprint: 'f2', contentJson: '{}', registeredAt: 2_000 })
    expect(await s.store.registerGraph(other)).toEqual(graphRow())
    expect(await s.store.registerGraph(graphRow({ registeredAt: 3_000 }))).toEqual(graphRow())
  })

  on('F3 name, version and namespace tell them apart', async (s) => {
    await s.store.registerGraph(graphRow())
    for (const more of [{ name: 'h' }, { version: '1.0.1' }, { namespace: 'other' }]) {
      const row = graphRow({ ...more, fingerprint: 'f2' })
      expect(await s.store.registerGraph(row)).toEqual(row)
    }
  })

  on('F3 at once: all are answered the same', async (s) => {
    const rows = ['a', 'b', 'c'].map((fingerprint) => graphRow({ fingerprint }))
    const answers = await Promise.all(rows.map((row) => s.store.registerGraph(row)))
    expect(answers).toEqual(rows.map(() => answers[0]))
  })
}

function keys({ on, expect }: Bench): void {
  on('C3 a key tells which input it stands for, in whichever visit it was used', async (s) => {
    const run = await s.held()
    const keyed = { replayClass: 'idempotent_with_key', idempotencyKey: 'k1' } as const
    await s.commit(run, {
      records: [
        record(1, { ...keyed, checkpointId: '1.0.0#0#3', inputHash: 'first', inputJson: null }),
        settled(record(2, { ...keyed, checkpointId: '1.0.0#0#4', inputHash: 'second' })),
        // What was sent is what counts: a person may have edited it.
        record(3, { ...keyed, tool: 'other', idempotencyKey: 'k2', inputJson: '{"edited":1}' }),
      ],
    })
    expect(await s.store.keyInput(run, 'send', 'k1')).toBe('first')
    expect(await s.store.keyInput(run, 'other', 'k2')).toBe(sha256('{"edited":1}'))
    expect(await s.store.keyInput(run, 'other', 'k1')).toBe(null)
    expect(await s.store.keyInput(run, 'send', 'k9')).toBe(null)
  })

  on('C2 calls without an end are found, in whatever visit', async (s) => {
    const run = await s.held()
    await s.commit(run, {
      records: [
        record(1, { nodeId: 'a', checkpointId: 'c1' }),
        record(2, { status: 'in_doubt', checkpointId: '1.0.0#0#9' }),
        settled(record(3)),
        record(4, { replayClass: 'pure' }),
      ],
    })
    const open = [...(await s.store.openCalls(run))].sort((a, b) => a.nth - b.nth)
    expect(open.map((call) => [call.nodeId, call.checkpointId, call.inputHash])).toEqual([
      ['a', 'c1', 'h1'],
      ['run', '1.0.0#0#9', 'h2'],
    ])
    expect(await s.store.openCalls(ref('nobody'))).toEqual([])
  })

  on('C3 keys of another run, or of a run of the same id elsewhere, are not its own', async (s) => {
    const run = await s.held()
    const keyed = { replayClass: 'idempotent_with_key', idempotencyKey: 'k1' } as const
    await s.commit(run, { records: [record(1, keyed)] })
    await s.held('r2')
    expect(await s.store.keyInput(ref('r2'), 'send', 'k1')).toBe(null)
    expect(await s.store.keyInput({ ...ref(), namespace: 'other' }, 'send', 'k1')).toBe(null)
    expect(await s.store.keyInput(ref('nobody'), 'send', 'k1')).toBe(null)
  })
}

const digestOf = (letter: string) => letter.repeat(64)

function blobs({ on, expect }: Bench): void {
  on(
    'B7 says which blobs a row refers to: of a call, evidence, checkpoint or output',
    async (s) => {
      const [call, heard, body, output] = ['a', 'b', 'c', 'd'].map(digestOf) as [
        string,
        string,
        string,
        string,
      ]
      const run = await s.held()
      await s.commit(run, {
        records: [settled(record(1), { resultJson: null, resultDigest: call })],
        evidence: [evidence(2, { resultJson: null, resultDigest: heard })],
        checkpoints: [checkpoint('r1', { visit: 2, bodyJson: '', bodyDigest: body })],
      })
      const all = [digestOf('e'), output, body, heard, call]
      expect([...(await s.store.blobsInUse(all))].sort()).toEqual([call, heard, body])
      const end = { state: 'completed', outputJson: null, outputDigest: output } as const
      await s.commit(run, { run: { ...end, release: true } })
      expect([...(await s.store.blobsInUse(all))].sort()).toEqual([call, heard, body, output])
      expect((await s.store.blobsInUse([])).size).toBe(0)
      expect((await s.store.blobsInUse([digestOf('e')])).size).toBe(0)
    },
  )

  on('B7 of a checkpoint that a rewind has dropped it refers to none', async (s) => {
    const run = await s.held()
    const body = { visit: 2, baseVisit: 2, bodyJson: '', bodyDigest: digestOf('c') }
    await s.commit(run, {
      checkpoints: [checkpoint('r1', body)],
      run: { visit: 2, node: 'run', state: 'failed', errorJson: '{}', release: true },
    })
    expect((await s.store.blobsInUse([digestOf('c')])).size).toBe(1)
    await s.store.amend(run, 'client', () => ({
      changes: {
        checkpoints: [checkpoint()],
        run: { state: 'pending', errorJson: null, visit: 1, node: 'run', rewind: true },
      },
      value: null,
    }))
    expect((await s.store.blobsInUse([digestOf('c')])).size).toBe(0)
  })
}

function late({ on, expect }: Bench): void {
  on('I11 lists the evidence of all visits, in the order it came, verified', async (s) => {
    const run = await s.held()
    const at = (visit: number) =>
      evidence(1, { attemptId: `0#${visit}/send/h1/0/1`, outcome: 'refused', resultJson: null })
    await s.commit(run, { evidence: [at(4)] })
    await s.store.amend(run, 'evidence', () => ({
      changes: { evidence: [at(1)], events: [event('heard')] },
      value: null,
    }))
    await s.commit(run, { evidence: [at(2)] })
    expect(await s.store.listEvidence(run)).toEqual(
      [at(4), at(1), at(2)].map((row) => ({ ...row, verifies: true })),
    )
    await s.store.start(newRun('r2'))
    expect(await s.store.listEvidence(ref('r2'))).toEqual([])
    expect(await s.store.listEvidence(ref('nobody'))).toEqual([])
  })
}
