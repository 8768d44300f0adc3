// Owns: the states of a call within one visit, and which moves between them are legal. The gate is
// the only one who moves a call (gate.ts); a step says where to, by what it answers (next.ts).
// Does not own: what is known of the call (its record, its entry): that outlives the visit.
// Invariant: a call that is settled is answered once and does nothing else.
import type { UnderWay } from '../visit/under-way.ts'

export type CallState =
  /** The node has asked for it; nothing is known of it yet. */
  | 'issued'
  /** Asked for after the end of its node. */
  | 'refused'
  /** The same call was made before in this visit, and is answered once for both. */
  | 'following'
  /** It has a key, and the verdict has been asked; it stays so in a visit that begins nothing. */
  | 'judged'
  /** Without a record, while records that it could be are unmatched: until the visit is quiet. */
  | 'held'
  /** Something that sends nothing is asked: a schema, the policy, other doubts, a shared result. */
  | 'checked'
  /** Its tool is asked whether it happened. */
  | 'probed'
  /** The store is asked what its key was used for. */
  | 'keyed'
  /** In the line of its rate-limit class. */
  | 'lined'
  /** What has to be durable before it goes on is on its way. */
  | 'writing'
  /** Its tool's function runs. */
  | 'sent'
  /** Between two attempts. */
  | 'resting'
  /** For a time, a signal, a child or a callback. */
  | 'waiting'
  /** A person has to answer it. */
  | 'asked'
  /** A person has to say what became of it, or what it is. */
  | 'in_doubt'
  /** Its result or error is known, and waits for its turn. */
  | 'settled'
  /** The node has it. */
  | 'answered'

const ends = ['settled', 'in_doubt'] as const
const sending = ['keyed', 'lined', 'writing', 'sent'] as const

/** From each state, where a call can go. */
export const legalMoves: Readonly<Record<CallState, readonly CallState[]>> = {
  issued: ['judged', 'checked', 'following', 'refused', 'settled'],
  refused: [],
  following: ['answered'],
  judged: ['judged', 'held', 'checked', 'probed', ...sending, 'waiting', 'asked', ...ends],
  held: ['judged'],
  checked: ['judged', 'checked', 'following', ...sending, 'waiting', 'asked', ...ends],
  probed: ['judged'],
  keyed: ['lined', 'writing', 'judged', ...ends],
  lined: ['writing', 'sent', 'judged', 'settled'],
  writing: ['sent', 'judged', 'resting', ...ends],
  sent: ['writing', 'judged', 'resting', ...ends],
  resting: ['judged', 'lined', 'sent', 'settled'],
  waiting: ['judged', 'settled'],
  asked: [],
  in_doubt: [],
  settled: ['answered'],
  answered: [],
}

/**
 * What a call holds its visit up with while it is there. A visit that parks waits for work, and
 * gives rests up.
 */
export const holdsOf: Readonly<Partial<Record<CallState, UnderWay>>> = {
  checked: 'rest',
  probed: 'work',
  keyed: 'work',
  lined: 'rest',
  writing: 'work',
  sent: 'work',
  resting: 'rest',
}

export function checkMove(call: string, from: CallState, to: CallState): void {
  if (legalMoves[from].includes(to)) return
  throw new Error(`internal error: call ${call} is ${from} and cannot become ${to}`)
}

/** Whether nothing more is decided about it in this visit. */
export function isOver(state: CallState): boolean {
  const to = legalMoves[state]
  return to.length === 0 || to[0] === 'answered'
}
