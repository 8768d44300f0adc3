// The states of a run and the legal transitions between them, as data. Who makes one, and under
// which lock, is the store's and the engine's business.
import { errorFor } from '../errors.ts'

export const runStates = [
  'pending',
  'running',
  'waiting_tool',
  'waiting_human',
  'paused',
  'completed',
  'failed',
  'cancelled',
] as const

export type RunState = (typeof runStates)[number]

export const transitions: Readonly<Record<RunState, readonly RunState[]>> = {
  pending: ['running', 'paused', 'cancelled'],
  running: [
    'pending',
    'waiting_tool',
    'waiting_human',
    'paused',
    'completed',
    'failed',
    'cancelled',
  ],
  waiting_tool: ['pending', 'paused', 'failed', 'cancelled'],
  waiting_human: ['pending', 'paused', 'failed', 'cancelled'],
  paused: ['pending', 'failed', 'cancelled'],
  completed: [],
  failed: ['pending'],
  cancelled: [],
}

/** States in which nothing more happens by itself or by an arrival. */
export const endStates: readonly RunState[] = ['completed', 'failed', 'cancelled']

export function isEnded(state: RunState): boolean {
  return endStates.includes(state)
}

export function checkTransition(runId: string, from: RunState, to: RunState): void {
  if (transitions[from].includes(to)) return
  throw errorFor('TRANSITION_ILLEGAL', runId, { from, to }, transitions[from])
}
