// What waits for people, and their decisions.
import type { Clock } from '../../clock.ts'
import { timeId } from '../../clock.ts'
import { comment } from '../../model/decisions/comment.ts'
import { type DecideRequest, decide } from '../../model/decisions/decide.ts'
import { choicesOf, decisionOn, mayDecide, quietUntil } from '../../model/decisions/may-decide.ts'
import { type Choice, fitsOf, isMarked, needsResult } from '../../model/decisions/outcomes.ts'
import { type Decider, votesOn } from '../../model/decisions/vote.ts'
import { errorFor } from '../../model/errors.ts'
import type { Graph } from '../../model/graph/graph.ts'
import { isAboutSent } from '../../model/replay/entry.ts'
import { attemptName, ofCall } from '../../model/run/attempt-id.ts'
import {
  type Attempt,
  type Decision,
  type Item,
  isAsked,
  keyOf,
  type Outcome,
  type Vote,
} from '../../model/run/records.ts'
import { type Checked, notValid, validate } from '../../model/tool/schema.ts'
import { faults, type Schema } from '../../model/tool/schema-faults.ts'
import { mayLackResult } from '../../model/tool/tool.ts'
import type { CoreStore, Loaded, Page } from '../../store/store.ts'
import { type BulkItem, type BulkRequest, type BulkResult, decideAlike } from './bulk.ts'
import { checkFilter, type InboxFilter } from './filter.ts'
import { closeLeftovers, placeOf } from './leftovers.ts'
import { type Previous, previousOf } from './link.ts'

/** An item with all that a person needs in order to decide it. */
export interface ItemView extends Item {
  readonly outcomes: readonly Outcome[]
  /** The outcomes, with what each leads to, what it needs, and whether it can be said yet. */
  readonly choices: readonly Choice[]
  /** Why nobody decides it any more, or not whoever looks; null if they may. */
  readonly barred: string | null
  readonly attempts: readonly (Attempt & { readonly diedAt: number | null })[]
  /**
   * When "it did not happen" and "fail" may be said of what was sent; Infinity while an attempt may
   * still be running.
   */
  readonly quietUntil: number | null
  /** What was decided, and by whom; null while nobody has. */
  readonly decision: Decision | null
  /** Where several have to agree, who has said what. */
  readonly votes: readonly Vote[]
  readonly comments: readonly Comment[]
  /** The same approval in an earlier round of a repair loop, and what was said of it. */
  readonly previous: Previous | null
}

/** What somebody has said about an item without deciding it. */
export interface Comment {
  readonly by: string
  readonly text: string
  readonly at: number
}

export interface InboxOptions {
  readonly store: CoreStore
  readonly clock: Clock
  readonly namespace: string
  readonly graphs: ReadonlyMap<string, Graph>
  /** Looks whether workers of this machine are dead, so that their attempts count as ended. */
  readonly checkWorkers: () => Promise<void>
}

export class Inbox {
  private readonly options: InboxOptions

  constructor(options: InboxOptions) {
    this.options = options
  }

  /** What waits, oldest first; with `state`, what has been decided or closed. */
  async list(filter: InboxFilter = {}): Promise<Page<Item>> {
    const { store, namespace } = this.options
    checkFilter(filter)
    return store.listItems({ state: 'open', ...filter, namespace })
  }

  /** The item, as `who` looks at it. */
  async get(itemId: string, who: Decider | null = null): Promise<ItemView> {
    const { store, clock, checkWorkers } = this.options
    const item = await this.find(itemId)
    await checkWorkers()
    const now = await store.load(item, placeOf(item))
    const fresh = now?.items.find((row) => row.itemId === itemId) ?? item
    const quiet = now && isAboutSent(fresh.reason) ? quietUntil(now, fresh) : null
    const choices = choicesOf(now, fresh, clock.now())
    const said = now?.decisions ?? []
    return {
      ...fresh,
      outcomes: choices.map(({ outcome }) => outcome),
      choices,
      barred: (now && mayDecide(now, fresh, who, clock.now())?.message) ?? null,
      quietUntil: quiet?.at ?? null,
      attempts: now ? attemptsOn(now, fresh) : [],
      decision: decisionOn(said, itemId),
      votes: votesOn(said, itemId),
      comments: commentsOn(said, itemId),
      previous: await previousOf(store, fresh),
    }
  }

  /** Says something about an item. It decides nothing, and whoever looks at the item sees it. */
  async comment(itemId: string, { by, text }: { by: string; text: string }): Promise<Comment> {
    const { store, clock } = this.options
    const item = await this.find(itemId)
    const made = { decisionId: timeId(clock, 'com'), at: clock.now() }
    const change = (now: Loaded) => {
      const { changes, comment: row } = comment(now, itemId, { by, text }, made)
      return { changes, value: { by: row.by, text: row.why, at: row.at } }
    }
    return store.amend(item, 'client', change, placeOf(item))
  }

  /**
   * One decision about items that are alike, each in a transaction of its own: what became of each
   * is told, and one that cannot be decided does not stop the others.
   */
  decideAll(items: readonly BulkItem[], request: BulkRequest): Promise<BulkResult[]> {
    const find = async (itemId: string) => {
      const item = await this.find(itemId)
      return { item, graph: await graphOf(this.options.store, item) }
    }
    return decideAlike({ find, decide: (id, said) => this.decide(id, said) }, items, request)
  }

  async decide(itemId: string, request: DecideRequest): Promise<Decision> {
    const { store, clock, checkWorkers } = this.options
    const item = await this.find(itemId)
    await this.checkResult(item, request)
    await checkWorkers()
    const decisionId = timeId(clock, 'dec')
    if (isMarked(request.outcome, 'pins')) {
      const message = 'a checkpoint is pinned by run.pin({ visit, by, reason })'
      throw errorFor('DECISION_INVALID', message)
    }
    const change = (now: Loaded) => {
      const made = decide(now, itemId, request, { decisionId, at: clock.now() })
      return { changes: made.changes, value: made.decision }
    }
    const decision = await store.amend(item, 'client', change, placeOf(item))
    if (request.outcome === 'abandon') await closeLeftovers(store, clock, item)
    return decision
  }

  /** Where the graph is at hand its schema is asked here; the engine asks it again in any case. */
  private async checkResult(item: Item, request: DecideRequest): Promise<void> {
    const { outcome, result } = request
    const fits = fitsOf(outcome)
    if (fits === null || fits === 'free') return
    if (result === undefined && needsResult(item, outcome) !== 'required') return
    const { store, graphs } = this.options
    const run = await store.getRun(item)
    const graph = graphs.get(`${run?.graph}@${run?.version}`)
    const tool = graph?.tools.get(item.body.subject?.tool ?? '')
    const edits = fits === 'input'
    const code = edits ? 'INPUT_INVALID' : 'OUTPUT_INVALID'
    const name = tool?.name ?? item.body.subject?.tool
    const edited = isAsked(name ?? '') ? 'the edit' : `edited input of ${name}`
    const what = { code, subject: edits ? edited : `result of ${name}` } as const
    if (tool === undefined) return checkShown(item, request, what)
    if (result === undefined && mayLackResult(tool.rules)) return
    const { input, output } = tool.rules
    const schema = edits ? input : output
    if (schema) await validate(schema, result, what)
  }

  private async find(itemId: string): Promise<Item> {
    const { store, namespace } = this.options
    const item = await store.getItem(namespace, itemId)
    if (item) return item
    const run = await store.getRun({ namespace, runId: itemId })
    const named = run
      ? `; that is the id of a run, whose items \`counterfoil inbox --run ${itemId}\` lists`
      : ''
    throw errorFor('ITEM_NOT_FOUND', itemId, named)
  }
}

/** By what the item itself says that an answer looks like: its program is not at hand. */
function checkShown(
  { body: { answer, approval } }: Item,
  { outcome, result }: DecideRequest,
  what: Checked,
): void {
  const schema = fitsOf(outcome) === 'input' ? approval?.schema : answer?.schema
  if (!schema || result === undefined) return
  const wrong = faults(schema as Schema, result)
  if (wrong.length === 0) return
  throw notValid(what, wrong)
}

/** The name of the graph that asks; items of before it was kept in them say it by their run. */
export async function graphOf(store: CoreStore, item: Item): Promise<string> {
  return item.body.graph ?? (await store.getRun(item))?.graph ?? ''
}

/** The attempts of the very call that an item is about, by the names that its upstream was told. */
function attemptsOn({ attempts, deaths }: Loaded, { body }: Item): ItemView['attempts'] {
  if (body.subject === null) return []
  return ofCall(attempts, keyOf(body.subject)).map((row) => ({
    ...row,
    attemptId: attemptName(row.attemptId),
    diedAt: deaths.get(row.workerId) ?? null,
  }))
}

function commentsOn(rows: Loaded['decisions'], itemId: string): Comment[] {
  return rows
    .filter((row) => row.itemId === itemId && row.outcome === 'comment' && row.verifies)
    .map(({ by, why: text, at }) => ({ by, text, at }))
}
