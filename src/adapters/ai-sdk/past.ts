// What is on record of a turn when it is opened: its replies by generation, its calls, and those of
// the turn that it replaces.
import type { Counterfoil } from '../../index.ts'
import { isMarked } from '../../model/decisions/outcomes.ts'
import { errorFor, type FailureData } from '../../model/errors.ts'
import { canonical, sha256 } from '../../model/json/canonical.ts'
import { ofCall } from '../../model/run/attempt-id.ts'
import { type CallRecord, callKey, type Decision, keyOf } from '../../model/run/records.ts'
import { occurrenceOf, scopeVisit } from '../../model/run/scope.ts'
import { type NamedCall, placeIds } from './places.ts'
import { type Envelope, isBroken, repliedCalls, repliedText, type ToolCall } from './reply.ts'

export type Row = CallRecord & { readonly verifies: boolean }

/** What the agent's work is known by: the same for every replay of it, another for the next. */
export interface TurnIds {
  /** The conversation, or whatever the agent works on: the ledger's workflow_id. */
  workflowId: string
  /** This piece of its work, such as the id of the message it answers. */
  checkpointId: string
  /** `agent`, unless told. */
  nodeId?: string
  /** How often a finished turn was asked for anew: as `agent.turn` gives it; 0, unless told. */
  generation?: number
}

export type PlainIds = Required<Omit<TurnIds, 'generation'>>

export interface UiMessage {
  readonly id: string
  readonly role: string
  readonly parts: readonly unknown[]
}

export interface ChatRequest {
  /** The conversation. */
  workflowId: string
  messages: readonly UiMessage[]
  /** As `useChat` sends it. Only `regenerate-message` makes a difference. */
  trigger?: string
  nodeId?: string
}

/** Which turn a request is about: (conversation, id of the last user message, its words). */
export function turnIdsOf({ workflowId, messages, nodeId }: ChatRequest): PlainIds {
  const asked = messages.findLast(({ role }) => role === 'user')
  if (asked === undefined || typeof asked.id !== 'string' || asked.id === '') {
    throw errorFor(
      'CHAT_REQUEST_INVALID',
      'a turn is known by the last message of the user, and none of them has an `id`',
    )
  }
  const digest = sha256(canonical(JSON.parse(JSON.stringify(asked.parts ?? []))))
  const checkpointId = `${asked.id}#${digest.slice(0, 16)}`
  return { workflowId, checkpointId, nodeId: nodeId ?? 'agent' }
}

type Loaded = NonNullable<Awaited<ReturnType<Counterfoil['store']['load']>>>

const nothing: Pick<Loaded, 'items' | 'decisions' | 'evidence'> = {
  items: [],
  decisions: [],
  evidence: [],
}

export type AskedCall = NamedCall & { readonly generation: number }

/** A reply of the model on record. */
export interface RecordedReply {
  readonly generation: number
  readonly reply: number
  /** It did not end as a reply does: its calls are not made. */
  readonly broken: boolean
  readonly text: string
  readonly calls: readonly ToolCall[]
}

export class Past {
  /** The newest generation on record, and whether a reply without open calls ended it. */
  readonly generation: number
  readonly finished: boolean
  /** All replies on record, those that broke off included. */
  readonly replies: readonly RecordedReply[]
  /** Calls that replies on record ask for, with the generation of the reply. */
  readonly asked: readonly AskedCall[]
  /** The same of replies that broke off: older versions have made such calls. */
  readonly cut: readonly AskedCall[]
  /** What the reply that ended the turn says; null if none did. */
  readonly lastWords: string | null
  readonly ids: PlainIds
  private readonly cf: Counterfoil
  private readonly rows: ReadonlyMap<string, Row>
  private readonly loaded: Loaded | null
  private readonly used = new Set<string>()
  private replaced: Promise<readonly Row[]> | null = null

  private constructor(cf: Counterfoil, ids: PlainIds, model: string, loaded: Loaded | null) {
    const rows = loaded?.records ?? []
    this.cf = cf
    this.ids = ids
    this.loaded = loaded
    this.rows = new Map(rows.map((row) => [keyOf(row), row]))
    const said = rows.filter(({ tool }) => tool === model).flatMap(replyIn)
    this.replies = said
    const replies = said.filter(({ broken }) => !broken)
    this.generation = Math.max(0, ...replies.map(({ generation }) => generation))
    const last = replies.findLast(
      ({ generation, calls }) => generation === this.generation && calls.length === 0,
    )
    this.finished = last !== undefined
    this.lastWords = last?.text ?? null
    this.asked = replies.flatMap(askedIn)
    this.cut = said.filter(({ broken }) => broken).flatMap(askedIn)
  }

  static async load(cf: Counterfoil, ids: PlainIds, model: string): Promise<Past> {
    const { workflowId: runId, nodeId, checkpointId } = ids
    const at = { visit: scopeVisit(nodeId, checkpointId), scope: { nodeId, checkpointId } }
    const loaded = await cf.store.load({ namespace: cf.namespace, runId }, at)
    return new Past(cf, ids, model, loaded)
  }

  /** Whether a call that asks for this is on record by one of these ids. */
  has(tool: string, input: unknown, occurrences: readonly number[]): boolean {
    const hash = hashOf(input)
    return occurrences.some((occurrence) => this.rows.has(callKey(tool, hash, occurrence)))
  }

  /** Those of a generation that did not break off. */
  repliesOf(generation: number): RecordedReply[] {
    return this.replies.filter((reply) => reply.generation === generation && !reply.broken)
  }

  /** Records of a tool at one of these places, the newest last. */
  at(tool: string, occurrences: readonly number[]): Row[] {
    return [...this.rows.values()].filter(
      (row) => row.tool === tool && occurrences.includes(row.nth),
    )
  }

  /**
   * Something is known of an open call that its row does not say: a person has decided, or a late
   * report says that it landed. Its row follows when the call is made again.
   */
  isAnswered(tool: string, nth: number, row: Row | null): boolean {
    const { items, decisions, evidence } = this.loaded ?? nothing
    if (row?.status === 'committed' || row?.status === 'failed') return false
    const isIts = (of: { tool: string; nth: number } | null) => of?.tool === tool && of.nth === nth
    if (items.some(({ state, body }) => state === 'open' && isIts(body.subject))) return false
    if (row !== null && ofCall(evidence, keyOf(row)).some(({ outcome }) => outcome === 'landed')) {
      return true
    }
    return decisions.some((said) => said.verifies && isIts(said.subject) && isUnused(said))
  }

  /** A person has abandoned the turn: nobody will ask again what became of its calls. */
  get abandoned(): boolean {
    const { decisions } = this.loaded ?? nothing
    return decisions.some(
      ({ outcome, verifies, voidedAt }) => outcome === 'abandon' && verifies && voidedAt === null,
    )
  }

  /** Calls of this turn that are not pure and may have had an effect. */
  effects(tool: string, isKnown: (row: CallRecord) => boolean): Row[] {
    return [...this.rows.values()].filter(
      (row) => row.tool === tool && isEffect(row) && !isKnown(row),
    )
  }

  /** A receipt of the same words; it answers one call and no other. */
  receipt(effects: readonly Row[], input: unknown): Row | null {
    const hash = hashOf(input)
    const found = effects.find(
      (row) => row.inputHash === hash && isTrusted(row) && !this.used.has(keyOf(row)),
    )
    return found ?? null
  }

  /** Receipts that calls of this generation were answered with, by whatever request of it. */
  useCopies(generation: number): void {
    const own = this.asked.filter((call) => call.generation === generation)
    for (const { toolName, toolCallId, reply } of own) {
      const places = placeIds(generation, reply, toolCallId).map((id) => occurrenceOf(id, 0))
      for (const copy of this.at(toolName, places)) {
        const isOne = copy.attempt === 0 && copy.replayClass !== 'pure' && isTrusted(copy)
        const effects = [...this.rows.values()].filter(
          (row) => row.tool === toolName && row.inputHash === copy.inputHash && isEffect(row),
        )
        if (isOne) this.use(effects.find((row) => isTrusted(row) && !this.used.has(keyOf(row))))
      }
    }
  }

  isSame(row: CallRecord, input: unknown): boolean {
    return row.inputHash === hashOf(input)
  }

  use(row: Row | null | undefined): void {
    if (row) this.used.add(keyOf(row))
  }

  /** The same for the turn that this one replaces: the same message before it was edited. */
  async effectsReplaced(tool: string): Promise<readonly Row[]> {
    this.replaced ??= this.loadReplaced()
    return (await this.replaced).filter((row) => row.tool === tool)
  }

  /**
   * What open items of the turn hold against calls of this tool: they stay open, whatever the
   * client says of earlier turns by now, and whatever the model makes of that.
   */
  async heldAgainst(tool: string): Promise<readonly Row[]> {
    const { items } = this.loaded ?? nothing
    const open = items.filter(
      ({ state, reason, body }) =>
        state === 'open' && reason === 'same_effect' && body.subject?.tool === tool,
    )
    if (open.length === 0) return []
    const keys = new Set(open.flatMap(({ body }) => body.unmatched.map(keyOf)))
    return (await this.effectsOfChat()).filter((row) => keys.has(keyOf(row)))
  }

  private async loadReplaced(): Promise<readonly Row[]> {
    const { checkpointId } = this.ids
    const message = messageOf(checkpointId)
    if (message === null) return []
    return (await this.effectsOfChat()).filter(
      (row) => row.checkpointId !== checkpointId && messageOf(row.checkpointId) === message,
    )
  }

  private async effectsOfChat(): Promise<readonly Row[]> {
    const { workflowId: runId, nodeId } = this.ids
    const ref = { namespace: this.cf.namespace, runId }
    const rows: Row[] = []
    let cursor: string | undefined
    do {
      const page = { countMax: 500, ...(cursor === undefined ? {} : { cursor }) }
      const { items, next } = await this.cf.store.listRecords(ref, page)
      rows.push(...items.filter((row) => row.nodeId === nodeId && isEffect(row)))
      cursor = next ?? undefined
    } while (cursor !== undefined)
    return rows
  }
}

/** What is said of a call and stays to be obeyed. */
function isUnused({ outcome, usedBy, voidedAt }: Decision): boolean {
  const isSaid = outcome === 'expire' || isMarked(outcome, 'call')
  return isSaid && voidedAt === null && !(isMarked(outcome, 'grants') && usedBy)
}

/** Of a turn's id, without the words. */
export function messageOf(checkpointId: string): string | null {
  const found = /^(.*)#[0-9a-f]{16}$/s.exec(checkpointId)
  return found?.[1] ?? null
}

export function isTrusted({ status, verifies }: Row): boolean {
  return status === 'committed' && verifies
}

function hashOf(input: unknown): string {
  return sha256(canonical(input))
}

/** It had an effect, or may have had one. */
export function isEffect({ replayClass, status, attempt, errorJson }: CallRecord): boolean {
  if (replayClass === 'pure' || attempt === 0) return false
  if (status !== 'failed') return true
  return (JSON.parse(errorJson ?? '{}') as Partial<FailureData>).kind === 'unknown'
}

/** Each record once, whichever load of it came first. */
export function distinct(rows: readonly Row[]): Row[] {
  const idOf = (row: Row) => canonical([row.nodeId, row.checkpointId, keyOf(row)])
  return [...new Map(rows.toReversed().map((row) => [idOf(row), row])).values()].toReversed()
}

function replyIn(row: Row): RecordedReply[] {
  if (row.status !== 'committed' || !row.verifies || row.resultJson === null) return []
  const { turn, ...envelope } = JSON.parse(row.resultJson) as Partial<Envelope>
  if (turn === undefined) return []
  const { generation, reply } = turn
  const broken = isBroken(envelope as Envelope)
  const text = repliedText(envelope as Envelope)
  return [{ generation, reply, broken, text, calls: repliedCalls(envelope as Envelope) }]
}

function askedIn({ generation, reply, calls }: RecordedReply): AskedCall[] {
  return calls.map((call) => ({ ...call, reply, generation }))
}
