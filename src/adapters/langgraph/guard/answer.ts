// A doubt as an interrupt that LangGraph users know, and the answer to it: what a person says by
// `new Command({ resume })` is a decision in our inbox. An answer is taken out of LangGraph's hands
// before any code of the task runs, so that no interrupt() of the user's gets it; and only what
// names an item is taken, so that no answer of theirs is lost.
import { AsyncLocalStorageProviderSingleton } from '@langchain/core/singletons'
import { GraphBubbleUp, interrupt } from '@langchain/langgraph'
import type { Counterfoil, DecideRequest, ReplayUnsafeError } from '../../../index.ts'
import type { UnmatchedCall } from '../../../model/decisions/item.ts'
import { type Choice, isMarked } from '../../../model/decisions/outcomes.ts'
import { type CounterfoilError, errorFor, isCounterfoilError } from '../../../model/errors.ts'
import { canonical } from '../../../model/json/canonical.ts'
import { isRecord } from '../../../model/run/state.ts'
import { spacesOf } from '../saver/spaces.ts'
import type { Scratchpad, Task } from './task.ts'

/** What `new Command({ resume })` is given for a doubt, or an approval. */
export interface Answer extends Partial<DecideRequest> {
  readonly itemId: string
}

/** What the interrupt of a doubt, or of an approval, shows: `interrupt.value.counterfoil`. */
export interface Asked {
  readonly itemId: string
  readonly title: string
  readonly reason: string
  readonly tool: string
  readonly input: unknown
  readonly outcomes: readonly string[]
  /** The outcomes, with what each leads to and what it needs. */
  readonly choices: readonly Choice[]
  /** The calls on record that nobody has asked for again: what `input` is to be compared with. */
  readonly records: readonly UnmatchedCall[]
  readonly version: number
  /** What to declare, so that this need not be asked again. */
  readonly hint?: string
}

const deciding = new WeakMap<object, Promise<void>>()
/** Tasks of an invocation that was given an answer, as against one that found an earlier one. */
const resumed = new WeakSet<object>()

/** Decides what the task was resumed with; every call of the task waits for that. */
export function takeAnswers(cf: Counterfoil, { scratchpad, threadId }: Task): Promise<void> {
  const said = spacesOf(cf).takeResumes(threadId)
  if (said.length > 0) resumed.add(scratchpad.resume)
  const isNew = resumed.has(scratchpad.resume)
  const given = answersOf(said.filter(isAnswer))
  // LangGraph keeps earlier answers beside later ones: the last about an item is the one that is
  // meant.
  const all = [...answersIn(scratchpad), ...given]
  const answers = [...new Map(all.map((answer) => [answer.itemId, answer])).values()]
  const before = deciding.get(scratchpad.resume) ?? Promise.resolve()
  if (answers.length === 0) return before
  const decided = before.then(async () => {
    for (const answer of answers) {
      await decide(cf, threadId, answer, isNew).catch((error) => {
        // It was refused when it was given: whoever goes on with null has not said it again.
        if (isNew || !isCounterfoilError(error) || error.retryable) throw error
      })
    }
  })
  decided.catch(() => {}) // whoever waits is told
  deciding.set(scratchpad.resume, decided)
  return decided
}

function answersIn(scratchpad: Scratchpad): Answer[] {
  const { resume, nullResume } = scratchpad
  const own = resume.filter(isAnswer)
  const others = resume.filter((value) => !isAnswer(value))
  if (own.length > 0) resume.splice(0, resume.length, ...others)
  if (isAnswer(nullResume)) {
    delete scratchpad.nullResume
    own.push(nullResume)
  }
  return answersOf(own)
}

/** LangGraph puts an answer beside the list of all before it: lists in lists, as many as came. */
function answersOf(values: readonly unknown[]): Answer[] {
  return values.flat(Number.POSITIVE_INFINITY) as Answer[]
}

// Other things have an `itemId` too: what a user's own interrupt is answered with is theirs.
const isItemId = /^item_[0-9a-f]{20}$/

function isAnswer(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0 && value.every(isAnswer)
  return isRecord(value) && isItemId.test(String(value['itemId']))
}

async function decide(
  cf: Counterfoil,
  threadId: string,
  answer: Answer,
  isNew: boolean,
): Promise<void> {
  const { itemId, ...said } = answer
  const denies = said.outcome !== undefined && isMarked(said.outcome, 'denies')
  // It was too early to say so then, and nobody has looked since.
  if (denies && !isNew && said.madeSure !== true) return
  const item = await cf.inbox.get(itemId)
  if (item.runId !== threadId) {
    throw invalid(`item ${itemId} belongs to thread ${item.runId}, and this is ${threadId}`)
  }
  // Decided elsewhere, or by the same command before: LangGraph keeps what it was resumed with.
  if (item.state !== 'open') return
  if (said.outcome === undefined) {
    throw invalid(`item ${itemId} is open: say its \`outcome\`, one of ${item.outcomes.join(', ')}`)
  }
  await cf.inbox.decide(itemId, { version: item.version, ...said } as DecideRequest)
}

/** The error that makes LangGraph stop the task, and show the item. */
export async function interruptFor(
  cf: Counterfoil,
  task: Task,
  error: Pick<ReplayUnsafeError, 'itemId'> & { readonly call: { readonly tool: string } },
  hint: string | null,
): Promise<unknown> {
  const item = await cf.inbox.get(error.itemId ?? '')
  const left = unused(task.scratchpad)
  if (left !== undefined) {
    const example = `{ itemId: '${item.itemId}', outcome: '${item.outcomes[0]}', by, reason }`
    throw invalid(
      `the graph was resumed with ${shown(left)}, and waits for ${item.title}: resume it with ` +
        `new Command({ resume: ${example} }), its outcome one of ${item.outcomes.join(', ')}; if ` +
        'several interrupts wait, by their ids: { resume: { [interrupt.id]: … } }',
    )
  }
  const { itemId, title, outcomes, choices, version, body } = item
  const reason = item.reason ?? item.kind
  const tool = body.subject?.tool ?? error.call.tool
  const subject = { itemId, title, reason, tool, input: body.input }
  const value: Asked = { ...subject, outcomes, choices, records: body.unmatched, version }
  return thrownBy(task, { counterfoil: hint === null ? value : { ...value, hint } })
}

/** Something the task was resumed with that nobody has asked for. */
function unused({ resume, nullResume, interruptCounter }: Scratchpad): unknown {
  if (resume.length > interruptCounter + 1) return resume.at(-1)
  // What an earlier invocation was given, and refused: nobody has said it again.
  if (!resumed.has(resume)) return undefined
  // LangGraph keeps the last answer beside those that were given out.
  const used = resume.some((value) => shown(value) === shown(nullResume))
  return used ? undefined : nullResume
}

/** As interrupt() makes it, without its turn among the interrupts of the task. */
function thrownBy({ config }: Task, value: unknown): unknown {
  const nobody = { interruptCounter: -1, resume: [] }
  const configurable = { ...config.configurable, __pregel_scratchpad: nobody }
  try {
    const context = AsyncLocalStorageProviderSingleton
    return context.runWithConfig({ ...config, configurable }, () => interrupt(value))
  } catch (error) {
    return error
  }
}

/**
 * An error that stops the run. LangGraph's tool nodes tell the model of every error but an
 * interrupt; so this passes for one until LangGraph wants to write it down.
 */
export function loud(error: unknown): Error {
  const passing = new GraphBubbleUp(error instanceof Error ? error.message : String(error))
  const interrupts = {
    get: () => {
      throw error
    },
  }
  passing.cause = error
  const { code } = (error ?? {}) as { code?: unknown }
  if (code !== undefined) Object.assign(passing, { code })
  return Object.defineProperties(passing, { name: { value: 'GraphInterrupt' }, interrupts })
}

function shown(value: unknown): string {
  try {
    return canonical(value ?? null).slice(0, 200)
  } catch {
    return `a ${typeof value}`
  }
}

function invalid(why: string): CounterfoilError {
  return errorFor('GUARD_ANSWER_INVALID', why)
}
