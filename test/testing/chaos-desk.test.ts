// Who decides doubts about functions that were cut: by the sandbox's count, where there is one.
import { expect, test } from 'vitest'
import { reportLines } from '../../src/cli/chaos/report/text.ts'
import { Attendant } from '../../src/cli/chaos/stage/desk.ts'
import type { Desk, Entry, Stage } from '../../src/cli/chaos/types.ts'
import { type Item, keyOf } from '../../src/model/run/records.ts'
import type { ChaosReport } from '../../src/testing/index.ts'

const subject = { tool: 'alpha', inputHash: 'h', occurrence: 1 }
const item = {
  ...{ itemId: 'i', kind: 'doubt', reason: 'unknown', title: 'alpha: did it happen?', version: 1 },
  ...{ runId: 'r', generation: 1, visit: 1, body: { subject, approval: null } },
} as unknown as Item
const cut = {
  ...{ what: 'run', runId: 'r', tool: 'alpha', input: {}, key: null, real: true, reply: null },
  ...{ callId: `1#1/${keyOf(subject as never)}`, effects: null, token: null },
} as unknown as Entry

async function decided(before: number | null, now: number | null) {
  const outcomes: string[] = []
  const desk = {
    inbox: {
      list: async () => ({ items: [item] }),
      decide: async (_: string, { outcome }: { outcome: string }) => void outcomes.push(outcome),
    },
    store: { listRuns: async () => ({ rows: [], next: null }) },
  }
  const stage = {
    look: (work: (desk: Desk) => unknown) => work(desk as unknown as Desk),
    entries: () => [cut],
    totals: async () => (now === null ? null : { alpha: now }),
  } as unknown as Stage
  const totals = before === null ? null : { alpha: before }
  const attendant = new Attendant(stage, { resultOf: () => 1 }, totals)
  await attendant.attend()
  return { outcomes, presumed: [...attendant.presumed] }
}

test('J2 whether a function that was cut did its work is asked of the sandbox', async () => {
  expect(await decided(3, 3)).toEqual({ outcomes: ['did_not_happen'], presumed: [] })
  expect(await decided(3, 4)).toEqual({ outcomes: ['happened'], presumed: [] })
  // Nobody counts: the careful answer, and a note.
  expect(await decided(null, null)).toEqual({ outcomes: ['happened'], presumed: ['alpha'] })
})

test('J2 a good end names the keyed tools that were not tried', () => {
  const same = (text: string) => text
  const colors = { bold: same, dim: same, green: same, red: same, yellow: same }
  const charge = {
    ...{ tool: 'charge', replayClass: 'idempotent_with_key', upstream: 'mock', calls: 1 },
    ...{ effects: 1, sentAgain: 0, effectsMax: 1, duplicates: 0, lost: 0, doubts: 0 },
    ...{ doubtsInVain: 0, holds: 'not_tried' },
  }
  const report = {
    ...{ subject: 'pay@1.0.0', store: 'memory', seed: 1, boundaries: 1, points: [], kills: 1 },
    ...{ tools: [charge], moving: [], notes: [], ms: 1, ok: true },
  } as unknown as ChaosReport
  const lines = reportLines({ colors, width: 80 } as never, report)
  expect(lines.slice(-2)).toEqual([
    'Nothing happened twice, nothing was lost, every end is the same.',
    'Not tried, because no crash made its key be sent again: charge',
  ])
})
