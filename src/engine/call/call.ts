// One call while it is under way: what the node asked for, where it stands, and how it is answered.
import type { ApprovalTerms } from '../../model/decisions/approval.ts'
import type { Call } from '../../model/graph/context.ts'
import type { Entry, PlaceRuling, Settled } from '../../model/replay/entry.ts'
import { type CallRecord, callKey, type Decision, type Subject } from '../../model/run/records.ts'
import type { Schema } from '../../model/tool/schema.ts'
import type { ReplayClass, Tool } from '../../model/tool/tool.ts'
import type { Result } from '../attempt/attempt.ts'
import type { Release } from '../visit/under-way.ts'
import type { WaitSpec } from '../wait/spec.ts'
import type { Place } from './match.ts'
import { type CallState, checkMove } from './states.ts'

export interface Ask {
  readonly kind: 'question' | 'approval'
  readonly title: string
  readonly data: unknown
  readonly queue: string
  readonly terms: ApprovalTerms
  /** What an edit must fit. */
  readonly schema: Schema | null
  readonly why: string | null
}

/** What the node says about a call beside its input. */
export interface CallRisk {
  readonly amount?: number
  readonly confidence?: number
  /** Calls that a model asked for as well, word for word, and that this one answers too. */
  readonly standsFor?: readonly string[]
  readonly live?: unknown
}

/** What the host knows of a call and the ledger cannot see. */
export interface Placed {
  /** Other ids that the same call may be on record by. */
  readonly aliases?: readonly string[]
  /** Other calls, of whatever visit, that may have had the same effect. */
  readonly alike?: readonly CallRecord[]
  /** One of them has the same words and a receipt that is trusted: its result is the answer. */
  readonly answer?: CallRecord | null
}

type Writable<T> = { -readonly [K in keyof T]: T[K] }

export class IssuedCall {
  readonly tool: Tool
  readonly place: Place
  readonly after: number
  /** What a person is asked: by the node itself, or because the risk policy holds the call. */
  ask: Ask | null
  /** What the node waits for instead of sending anything. */
  wait: WaitSpec | null = null
  /** When a wait or a callback is over; written with the intent. */
  dueAt: number | null = null
  /** Others wait for the result of this one. */
  shares = false
  /** When this visit dispatched it first, and last. */
  firstSentAt: number | null = null
  dispatchedAt: number | null = null
  /** When its upstream was last heard of, since the visit was loaded. */
  beatAt: number | null = null
  /** Not to be sent before a person has agreed. */
  held = false
  /** The risk policy has let it pass. */
  passed = false
  /** Nothing else has to be decided before it is sent. */
  cleared = false
  /** Found on record; its host has not asked for it. */
  unasked = false
  /** The id that a foreign runtime gave to the call. */
  callId: string | null = null
  /** What its host knows of it, if the id is a place of its own. */
  placed: Placed | null = null
  readonly risk: CallRisk
  readonly promise: Call<unknown>
  /** The validated input, as it was when the call was admitted. */
  inputJson = 'null'
  /** What a person has put in its place. */
  editedJson: string | null = null
  inputHash = ''
  occurrence = 0
  key = ''
  /** The stricter of the tool's class and the recorded one. */
  replayClass: ReplayClass
  entry: Entry | null = null
  /** What a person said of this call or its place, where its own record does not answer. */
  ruling: PlaceRuling | null = null
  /** The failed call that this one is, tried again by a person's decision. */
  retries: CallRecord | null = null
  /** Allows one send of a call that has no record yet; consumed with what is written first. */
  grant: Decision | null = null
  /** The record as it was last written by this visit. */
  record: CallRecord | null = null
  /** Attempts of which nobody knows the outcome, the present one not counted. */
  unknownBefore = 0
  /** Attempts made by this visit, and how long those of a pure call have taken. */
  tries = 0
  tookMs = 0
  /** Why the last attempt's result could not be recorded, if it answered. */
  unrecorded: string | null = null
  probed: 'none' | 'unasked' | 'yes' | 'no' | 'unknown'
  probeResult: Result | null = null
  /** The node has seen its end. */
  release: Release = () => {}
  /** Its input is valid, and it has a key. */
  onNumbered: () => void = () => {}
  resolve: (value: unknown) => void = () => {}
  reject: (error: unknown) => void = () => {}
  private now: CallState = 'issued'

  constructor(tool: Tool, place: Place, after: number, ask: Ask | null, risk: CallRisk) {
    this.tool = tool
    this.replayClass = tool.replayClass
    this.place = place
    this.after = after
    this.ask = ask
    this.risk = risk
    this.probed = tool.rules.probe === null ? 'none' : 'unasked'
    this.promise = new Promise((resolve, reject) => {
      this.resolve = resolve
      this.reject = reject
    }) as Call<unknown>
    // A call nobody awaits may fail: that is the run's business, not the process's.
    this.promise.catch(() => {})
  }

  get state(): CallState {
    return this.now
  }

  /** For the gate alone. */
  move(to: CallState): void {
    checkMove(this.key || this.tool.name, this.now, to)
    this.now = to
  }

  /** Calls on record that may have had its effect. */
  get alike(): readonly CallRecord[] {
    return this.placed?.alike ?? []
  }

  get subject(): Subject {
    const { tool, inputHash, occurrence, place } = this
    return { tool: tool.name, inputHash, occurrence, nth: place.nth }
  }

  /** Gives it the number of a record, or of one that is to be made. */
  renumber(occurrence: number): void {
    this.occurrence = occurrence
    this.key = callKey(this.tool.name, this.inputHash, occurrence)
    this.onNumbered()
  }

  answer(settled: Settled, replayed: boolean): void {
    ;(this.promise as Writable<Call<unknown>>).replayed = replayed
    if (settled.ok) this.resolve(settled.value)
    else this.reject(settled.value)
  }
}

/** The call of a record that its host has not asked for. */
export function unaskedCall(entry: Entry, tool: Tool, after: number): IssuedCall {
  const { nth, inputHash, inputJson, occurrence } = entry.record
  const call = new IssuedCall(tool, { tool: tool.name, nth }, after, null, {})
  call.unasked = true
  call.inputHash = inputHash
  call.inputJson = inputJson ?? 'null'
  call.entry = entry
  call.renumber(occurrence)
  return call
}

/** Attempts of this visit have a limit; a later visit may make at least one of its own. */
export function triesSpent(call: IssuedCall): boolean {
  return call.tries >= call.tool.rules.retry.attemptMax
}

/**
 * What is sent is what was recorded: whatever node or tool has done to its objects since, and also
 * when a person gave the record to a call that has moved.
 */
export function inputOf(call: IssuedCall): unknown {
  return JSON.parse(call.record?.inputJson ?? call.inputJson)
}
