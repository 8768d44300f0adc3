// What is on record of a turn when it is opened: its replies by generation, its calls, and those of
// the turn that it replaces.
import type { Counterfoil } from '../../index.ts'
import { canonical, sha256 } from '../../model/canonical.ts'
import { CounterfoilError } from '../../model/errors.ts'
import { type CallRecord, callKey, keyOf } from '../../model/records.ts'
import { occurrenceOf, scopeVisit } from '../../model/scope.ts'
import { type NamedCall, otherPlaces } from './places.ts'
import { type Envelope, isBroken, repliedCalls } from './reply.ts'

type Row = CallRecord & { readonly verifies: boolean }

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
    throw new CounterfoilError(
      'CHAT_REQUEST_INVALID',
      'a turn is known by the last message of the user: there is none with an `id`',
    )
  }
  const digest = sha256(canonical(JSON.parse(JSON.stringify(asked.parts ?? []))))
  const checkpointId = `${asked.id}#${digest.slice(0, 16)}`
  return { workflowId, checkpointId, nodeId: nodeId ?? 'agent' }
}

export class Past {
  /** The newest generation on record, and whether a reply without open calls ended it. */
  readonly generation: number
  readonly finished: boolean
  /** Calls that replies on record ask for, with the generation of the reply. */
  readonly asked: readonly (NamedCall & { generation: number })[]
  private readonly cf: Counterfoil
  private readonly ids: PlainIds
  private readonly rows: ReadonlyMap<string, Row>
  private readonly used = new Set<string>()
  private replaced: Promise<readonly Row[]> | null = null

  private constructor(cf: Counterfoil, ids: PlainIds, model: string, rows: Row[]) {
    this.cf = cf
    this.ids = ids
    this.rows = new Map(rows.map((row) => [keyOf(row), row]))
    const replies = rows.filter(({ tool }) => tool === model).flatMap(replyIn)
    this.generation = Math.max(0, ...replies.map(({ generation }) => generation))
    this.finished = replies.some(
      ({ generation, calls }) => generation === this.generation && calls.length === 0,
    )
    this.asked = replies.flatMap(({ generation, reply, calls }) =>
      calls.map((call) => ({ ...call, reply, generation })),
    )
  }

  static async load(cf: Counterfoil, ids: PlainIds, model: string): Promise<Past> {
    const { workflowId: runId, nodeId, checkpointId } = ids
    const at = { visit: scopeVisit(nodeId, checkpointId), scope: { nodeId, checkpointId } }
    const loaded = await cf.store.load({ namespace: cf.namespace, runId }, at)
    return new Past(cf, ids, model, [...(loaded?.records ?? [])])
  }

  /** Whether a call that asks for this is on record by one of these ids. */
  has(tool: string, input: unknown, occurrences: readonly number[]): boolean {
    const hash = hashOf(input)
    return occurrences.some((occurrence) => this.rows.has(callKey(tool, hash, occurrence)))
  }

  /** The record of a call by its id alone, in whatever reply and generation. */
  find(tool: string, toolCallId: string): Row | null {
    const last = { generation: this.generation, reply: -1 }
    const repliesMax = Math.max(0, ...this.asked.map(({ reply }) => reply))
    const ids = otherPlaces(last, repliesMax, toolCallId).map((id) => occurrenceOf(id, 0))
    const found = [...this.rows.values()].filter(
      (row) => row.tool === tool && ids.includes(row.nth),
    )
    return found.at(-1) ?? null
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

  isSame(row: CallRecord, input: unknown): boolean {
    return row.inputHash === hashOf(input)
  }

  use(row: Row | null): void {
    if (row) this.used.add(keyOf(row))
  }

  /** The same for the turn that this one replaces: the same message before it was edited. */
  async effectsReplaced(tool: string): Promise<readonly Row[]> {
    this.replaced ??= this.loadReplaced()
    return (await this.replaced).filter((row) => row.tool === tool)
  }

  private async loadReplaced(): Promise<readonly Row[]> {
    const { workflowId: runId, nodeId, checkpointId } = this.ids
    const message = messageOf(checkpointId)
    const rows: Row[] = []
    if (message === null) return rows
    let cursor: string | undefined
    do {
      const page = { countMax: 500, ...(cursor === undefined ? {} : { cursor }) }
      const { items, next } = await this.cf.store.listRecords(
        { namespace: this.cf.namespace, runId },
        page,
      )
      rows.push(...items.filter((row) => row.nodeId === nodeId && isEffect(row)))
      cursor = next ?? undefined
    } while (cursor !== undefined)
    return rows.filter(
      (row) => row.checkpointId !== checkpointId && messageOf(row.checkpointId) === message,
    )
  }
}

/** Of a turn's id, without the words. */
function messageOf(checkpointId: string): string | null {
  const found = /^(.*)#[0-9a-f]{16}$/s.exec(checkpointId)
  return found?.[1] ?? null
}

function isTrusted({ status, verifies }: Row): boolean {
  return status === 'committed' && verifies
}

function hashOf(input: unknown): string {
  return sha256(canonical(input))
}

function isEffect({ replayClass, status, attempt }: CallRecord): boolean {
  return replayClass !== 'pure' && status !== 'failed' && attempt > 0
}

function replyIn(row: Row) {
  if (row.status !== 'committed' || !row.verifies || row.resultJson === null) return []
  const { turn, ...envelope } = JSON.parse(row.resultJson) as Partial<Envelope>
  if (turn === undefined || isBroken(envelope as Envelope)) return []
  const { generation, reply } = turn
  return [{ generation, reply, calls: repliedCalls(envelope as Envelope) }]
}
