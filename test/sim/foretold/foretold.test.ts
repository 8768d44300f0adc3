// "If the worker died now" (C7), tested on random programs by killing them there: what replays is
// not sent again, what reruns is, whoever is to be asked is asked, and nothing else happens.
import { expect, test } from 'vitest'
import { programsForetold } from '../../size.ts'
import type { Kind } from '../program.ts'
import { Life, type Totals } from './life.ts'

async function batch(kind: Kind, count: number): Promise<Totals> {
  const totals: Totals = { resumes: 0, calls: 0, actions: {}, found: [] }
  for (let seed = 1; seed <= count; seed++) await new Life(seed, kind, totals).live()
  const { found, ...figures } = totals
  console.log(`foretold ${kind}: seeds 1…${count}: ${JSON.stringify(figures)}`)
  return totals
}

const timeout = 10 * 60_000

test(
  'C7 what is foretold of random programs is what happens when they are killed there',
  async () => {
    for (const kind of ['plain', 'waits'] as const) {
      const { found, resumes, actions } = await batch(kind, programsForetold)
      expect(found.slice(0, 10)).toEqual([])
      expect(resumes).toBeGreaterThan(programsForetold)
      for (const action of ['replay', 'rerun', 'probe', 'park', 'wait']) {
        expect([action, (actions[action] ?? 0) > programsForetold / 20]).toEqual([action, true])
      }
    }
  },
  timeout,
)

test(
  'C7, C2 what is said to replay is not sent, though the code has changed meanwhile',
  async () => {
    const { found, resumes } = await batch('version', Math.ceil(programsForetold / 2))
    expect(found.slice(0, 10)).toEqual([])
    expect(resumes).toBeGreaterThan(programsForetold / 2)
  },
  timeout,
)
