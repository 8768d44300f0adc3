// DESIGN §9, Migrate: which records of a visit answer after its run was moved to another version.
import { describe, expect, test } from 'vitest'
import { setAside } from '../../src/model/replay/carried.ts'
import { type CallRecord, type CallStatus, checkpointId } from '../../src/model/run/records.ts'
import { scopeGraph } from '../../src/model/run/scope.ts'
import { replayClasses } from '../../src/model/tool/replay-class.ts'
import { record } from '../../src/testing/store/fixtures.ts'

const here = { graph: 'g', version: '2.0.0', generation: 0, visit: 3 }

function row(version: string, more: Partial<CallRecord>): CallRecord {
  return { ...record(1), checkpointId: checkpointId(version, 0, 3), ...more }
}

const pure = (version: string, seq: number) => row(version, { replayClass: 'pure', seq })
const effect = (version: string, after: number, more: Partial<CallRecord> = {}) =>
  row(version, { replayClass: 'unsafe_on_replay', after, seq: after + 1, ...more })

describe('records of a visit that was moved', () => {
  const statuses: readonly CallStatus[] = ['pending', 'committed', 'failed', 'in_doubt']
  const versions = ['2.0.0', '1.0.0', '3.0.0']
  const limits = [null, 0, 1, 2, 3]
  const cases = replayClasses.flatMap((replayClass) =>
    statuses.flatMap((status) =>
      versions.flatMap((version) =>
        limits.flatMap((after) =>
          [1, 2, 3, null].map((seq) => ({ replayClass, status, version, after, seq })),
        ),
      ),
    ),
  )

  test('F2 over the product of class, status, version, seq and the last effect', () => {
    expect(cases.length).toBe(3 * 4 * 3 * 5 * 4)
    for (const { replayClass, status, version, after, seq } of cases) {
      const asked = row(version, { replayClass, status, seq, after: 0, occurrence: 1 })
      // A non-pure one has its own `after`, 0: it is never later than what the case says.
      const rows = after === null ? [asked] : [asked, effect(version, after)]
      // The page: what is not pure, or of this version, answers; else up to the last `after`.
      const answers =
        replayClass !== 'pure' || version === '2.0.0' || (seq !== null && seq <= (after ?? 0))
      const what = `${replayClass} ${status} of ${version}, seq ${seq}, after ${after}`
      expect(setAside(rows, here).has(asked), what).toBe(!answers)
    }
  })

  test('F2 the last effect counts, not the last that ended', () => {
    const [one, two, three] = [pure('1.0.0', 1), pure('1.0.0', 3), pure('1.0.0', 5)]
    const rows = [one, two, three, effect('1.0.0', 3), effect('1.0.0', 1, { seq: 9 })]
    expect([...setAside(rows, here)]).toEqual([three])
  })

  test('F2 waits, questions and held calls are effects too, also without an end', () => {
    for (const tool of ['counterfoil.sleep', 'counterfoil.approval', 'mail']) {
      const one = pure('1.0.0', 2)
      const wait = effect('1.0.0', 2, { tool, status: 'pending', seq: null, attempt: 0 })
      expect(setAside([one, wait], here).size, tool).toBe(0)
    }
  })

  test('F2 what a second version had set aside does not answer in a third', () => {
    const one = pure('1.0.0', 2)
    const two = pure('1.5.0', 3)
    // 1.5.0 has asked again, got `two`, and an effect followed from that.
    const rows = [one, effect('1.0.0', 1), two, effect('1.5.0', 3)]
    expect([...setAside(rows, here)]).toEqual([one])
  })

  test('F2 the checkpoint ids of a scope are its host’s', () => {
    const run = { ...here, graph: scopeGraph.name }
    expect(setAside([row('thread-7', { replayClass: 'pure', seq: 4 })], run).size).toBe(0)
  })
})
