// D1: the states of a run and what may follow what. The expected table is written from D1 and the
// design, so that a transition added to the code by mistake shows here.

import { describe, expect, test } from 'vitest'
import { CounterfoilError } from '../../src/model/errors.ts'
import {
  checkTransition,
  endStates,
  isEnded,
  type RunState,
  runStates,
  transitions,
} from '../../src/model/run/states.ts'
import { fc } from '../seed.ts'

/** Waits give the run back to the queue (pending), never straight to a worker. */
const waits = 'pending paused failed cancelled'
const expected: Record<RunState, string> = {
  pending: 'running paused cancelled',
  running: 'pending waiting_tool waiting_human paused completed failed cancelled',
  waiting_tool: waits,
  waiting_human: waits,
  paused: 'pending failed cancelled',
  completed: '',
  // C10: a person may try a failed run again.
  failed: 'pending',
  cancelled: '',
}

function legal(from: RunState, to: RunState): boolean {
  return expected[from].split(' ').includes(to)
}

function tryTo(runId: string, from: RunState, to: RunState): CounterfoilError | null {
  try {
    checkTransition(runId, from, to)
    return null
  } catch (error) {
    if (error instanceof CounterfoilError) return error
    throw error
  }
}

const state = fc.constantFrom(...runStates)

describe('D1 run states', () => {
  test('D1 there are exactly eight', () => {
    expect([...runStates].sort()).toEqual([
      ...['cancelled', 'completed', 'failed', 'paused'],
      ...['pending', 'running', 'waiting_human', 'waiting_tool'],
    ])
    expect(Object.keys(transitions).sort()).toEqual([...runStates].sort())
  })

  test('D1 all 64 pairs: what is legal passes, everything else is refused', () => {
    const pairs = runStates.flatMap((from) => runStates.map((to) => ({ from, to })))
    expect(pairs).toHaveLength(64)
    for (const { from, to } of pairs) {
      expect([from, to, tryTo('r', from, to) === null]).toEqual([from, to, legal(from, to)])
    }
  })

  test('D1 the table names no state twice and none that does not exist', () => {
    for (const from of runStates) {
      const next = transitions[from]
      expect(new Set(next).size).toBe(next.length)
      expect(next.filter((to) => !runStates.includes(to))).toEqual([])
      expect(next).not.toContain(from)
    }
  })

  test('D1 random walks: every step taken is legal, every other one is refused', () => {
    const walk = fc.array(state, { minLength: 1, maxLength: 60 })
    fc.assert(
      fc.property(walk, (wanted) => {
        let now: RunState = 'pending'
        for (const to of wanted) {
          const refusal = tryTo('walker', now, to)
          expect(refusal === null).toBe(legal(now, to))
          if (refusal === null) now = to
        }
        // Nobody comes to a wait or an end but through a worker or a person's stop.
        expect(runStates).toContain(now)
      }),
      { numRuns: 2_000 },
    )
  })

  test('D1 a walk over legal steps alone ends only in end states, and gets everywhere', () => {
    const seen = new Set<RunState>()
    const choices = fc.array(fc.nat(100), { minLength: 1, maxLength: 40 })
    fc.assert(
      fc.property(choices, (picks) => {
        let now: RunState = 'pending'
        seen.add(now)
        for (const pick of picks) {
          const next: readonly RunState[] = transitions[now]
          const to = next[pick % next.length]
          if (to === undefined) {
            expect(['completed', 'cancelled']).toContain(now)
            return
          }
          checkTransition('walker', now, to)
          now = to
          seen.add(now)
        }
      }),
      { numRuns: 2_000, seed: 1 },
    )
    expect([...seen].sort()).toEqual([...runStates].sort())
  })

  test('D1 the end states are completed, failed and cancelled', () => {
    expect([...endStates].sort()).toEqual(['cancelled', 'completed', 'failed'])
    for (const each of runStates) expect(isEnded(each)).toBe(endStates.includes(each))
  })

  test('D1 nothing follows completed or cancelled, and only a retry follows failed', () => {
    for (const to of runStates) {
      expect(tryTo('r', 'completed', to)).not.toBeNull()
      expect(tryTo('r', 'cancelled', to)).not.toBeNull()
      expect(tryTo('r', 'failed', to) === null).toBe(to === 'pending')
    }
  })

  test('D1 only a worker that holds the run completes it or makes it wait', () => {
    for (const to of ['completed', 'waiting_tool', 'waiting_human'] as const) {
      expect(runStates.filter((from) => tryTo('r', from, to) === null)).toEqual(['running'])
    }
    expect(runStates.filter((from) => tryTo('r', from, 'running') === null)).toEqual(['pending'])
  })

  test('D1 every live state can be cancelled', () => {
    const live = runStates.filter((each) => !isEnded(each))
    expect(live.filter((from) => tryTo('r', from, 'cancelled') !== null)).toEqual([])
  })

  test('D1 the refusal names the run, from, to and what is legal', () => {
    const runId = fc.string({ minLength: 1, maxLength: 30 })
    fc.assert(
      fc.property(runId, state, state, (id, from, to) => {
        fc.pre(!legal(from, to))
        const refusal = tryTo(id, from, to)
        expect(refusal?.code).toBe('TRANSITION_ILLEGAL')
        expect(refusal?.retryable).toBe(false)
        expect(refusal?.details).toEqual({ runId: id, from, to })
        expect(refusal?.message).toContain(`run ${id} cannot go from ${from} to ${to}`)
        const options = expected[from].split(' ').filter((word) => word !== '')
        const listed = refusal?.message.split('allowed from here: ')[1] ?? ''
        if (options.length === 0) expect(listed).toBe('none: it has ended')
        else expect(listed.split(', ').sort()).toEqual([...options].sort())
      }),
    )
  })
})
