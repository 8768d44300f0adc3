// One guarded call: through a scope of ours, inside a task of LangGraph's. Whatever stops it
// without an answer stops the run as well; a model is only told what became of a call.
import { AsyncLocalStorage } from 'node:async_hooks'
import type { RunnableConfig } from '@langchain/core/runnables'
import type { SerializerProtocol } from '@langchain/langgraph-checkpoint'
import {
  type CallInfo,
  type Counterfoil,
  type PlacedCall,
  type ReplayUnsafeError,
  type Tool,
  WithdrawnError,
} from '../../../index.ts'
import { isCounterfoilError } from '../../../model/errors.ts'
import { canonical, sha256 } from '../../../model/json/canonical.ts'
import { isRecordedKey, makeTool } from '../../../model/tool/tool.ts'
import { type Anchor, anchorOf, noSaver } from '../line/anchor.ts'
import { inTurn, isBranched, type OffLine, offLine } from '../line/branch.ts'
import { hasRecordAt, placeIn, resultOf } from '../line/branch-place.ts'
import { markOf } from '../line/line.ts'
import { checkNotDone, checkTurn } from '../line/turn.ts'
import { ownTurn, placeKey } from '../line/turn-row.ts'
import { CounterfoilSaver } from '../saver/saver.ts'
import { spacesOf } from '../saver/spaces.ts'
import { interruptFor, loud, takeAnswers } from './answer.ts'
import { deskOf, type Made, type Seat } from './desk.ts'
import { fitting, revived } from './fit.ts'
import { infoFor, infos } from './info.ts'
import type { GuardRules } from './rules.ts'
import { isBubble, type Task, taskOf } from './task.ts'
import { fromInput, fromPlain, readdressed, toInput, toPlain } from './values.ts'

/** No limit of ours: a pure call may be an agent of its own, and LangGraph has timeouts. */
const noTimeoutMs = 2 ** 31 - 1

/** What `onCall` is told of every call that was answered. */
export interface AnsweredCall {
  readonly tool: string
  readonly callId: string | null
  readonly input: unknown
  readonly result: unknown
  /** From the ledger, or by an identical call of the same reply: nothing was sent for it now. */
  readonly replayed: boolean
}

export interface HostCall {
  readonly cf: Counterfoil
  readonly name: string
  readonly rules: GuardRules
  readonly config: RunnableConfig | undefined
  readonly callId: string | null
  readonly input: unknown
  /** All that its task does. */
  readonly isTask: boolean
  readonly run: (how: How) => unknown
  /** Why a value cannot be its result, if it cannot; of a person's as well as of its own. */
  readonly misfit?: (result: unknown) => string | null
  readonly onCall: ((call: AnsweredCall) => void) | undefined
}

export interface How {
  /** What a person has put in the place of the input. */
  readonly edited: { readonly value: unknown } | null
  /** Aborted by the time limit of the call; of a pure one also by LangGraph. */
  readonly signal: AbortSignal
  /** The place of the call in the model's reply; null where it is made as if it had no guard. */
  readonly index: number | null
}

export async function guardedCall(call: HostCall): Promise<unknown> {
  const task = taskOf(call.config)
  if (task === null || saverOf(call.cf, task) === null) return unguarded(call)
  const own = new Own(call, task)
  try {
    return await own.make()
  } catch (error) {
    if (own.isHosts(error)) throw error
    spacesOf(call.cf).stopAll(task.config)
    throw loud(error)
  }
}

/**
 * Tools may be shared with a graph whose checkpoints are elsewhere. A pure one does there what it
 * always did; another is refused, and a model is not told, lest it look for a way around.
 */
function unguarded({ rules, config, run }: HostCall): unknown {
  if (rules.replayClass !== 'pure') throw loud(noSaver())
  const signal = config?.signal ?? new AbortController().signal
  return run({ edited: null, signal, index: null })
}

class Own {
  private readonly call: HostCall
  private readonly task: Task
  private readonly inHost = AsyncLocalStorage.snapshot()
  /** What the function has thrown itself, for LangGraph. */
  private thrown: { readonly error: unknown } | null = null
  private raw: { readonly value: unknown } | null = null
  private hint: string | null = null

  constructor(call: HostCall, task: Task) {
    this.call = call
    this.task = task
  }

  async make(): Promise<unknown> {
    const { call, task } = this
    const { cf, name, callId, rules } = call
    const saver = saverOf(cf, task)
    if (saver === null) throw noSaver()
    await takeAnswers(cf, task)
    const { serde } = saver
    const input = await toInput(serde, call.input)
    const isPure = rules.replayClass === 'pure'
    const collapses = rules.replayClass === 'unsafe_on_replay' && rules.allowIdentical !== true
    const { isTask } = call
    const called = { tool: name, callId, input, collapses, isPure, isTask }
    const anchor = await anchorOf(saver, task, called)
    if (task.config.signal?.aborted) throw this.hosts(task.config.signal.reason)
    const counts = isPure || rules.allowIdentical === true
    const id = anchor.callId ?? (counts ? null : sha256(canonical([name, input ?? null])))
    const made = isPure
      ? await this.through(saver, anchor, id, input)
      : await this.onBranch(saver, anchor, id, input)
    const mine = callId !== null && anchor.callId !== null && callId !== anchor.callId
    const plain = mine ? readdressed(made.plain, anchor.callId, callId) : made.plain
    const result = await fromPlain(serde, plain)
    call.onCall?.({ tool: name, callId, input, result, replayed: made.replayed || mine })
    return result
  }

  /** Errors that are LangGraph's business: its own, the tool's, and how a call has ended. */
  isHosts(error: unknown): boolean {
    if (this.thrown?.error === error || isBubble(error)) return true
    return isCounterfoilError(error, 'CALL_FAILED') || isCounterfoilError(error, 'OUTCOME_UNKNOWN')
  }

  private hosts(error: unknown): unknown {
    this.thrown = { error }
    return error
  }

  /** A call of a branch is answered by what another branch has on record. */
  private async onBranch(
    saver: CounterfoilSaver,
    anchor: Anchor,
    id: string | null,
    input: unknown,
  ): Promise<Made> {
    const { cf, name, callId } = this.call
    const { task } = this
    return inTurn(cf, task.threadId, async (isOver) => {
      const found = await offLine(saver, task, anchor, name, input)
      if (found === null) isOver()
      else if ('itemId' in found) {
        const { itemId } = found
        throw await interruptFor(cf, task, { itemId, call: { tool: name } }, null)
      }
      // It has a record of its own, which was not sent: that stays as it is.
      const isInstead = found !== null && 'answer' in found && found.instead
      const made = isInstead
        ? { plain: resultOf(found.answer), replayed: true }
        : await this.place(anchor, id, input, found, saver)
      if (found === null || callId === null) return made
      return { ...made, plain: readdressed(made.plain, null, callId) }
    })
  }

  /**
   * A call that a person may have to compare with others is known by its place among the calls of
   * its task: a model that is asked again finds other words, and what was decided is not lost.
   */
  private async place(
    anchor: Anchor,
    id: string | null,
    input: unknown,
    found: Exclude<OffLine, { itemId: string }> | null,
    saver: CounterfoilSaver,
  ): Promise<Made> {
    const { cf, name } = this.call
    const placed = found && 'answer' in found ? { answer: found.answer } : found
    if (anchor.callId !== null || !(await isBranched(cf, this.task))) {
      return this.through(saver, anchor, id, input, placed)
    }
    const place = placeIn(this.task, name)
    const compared = found !== null && 'alike' in found
    if (compared || (await hasRecordAt(cf, this.task.threadId, anchor, name, place))) {
      return this.through(saver, anchor, place, input, placed ?? {})
    }
    const own = id ?? (placed === null ? null : canonical([name, input ?? null]))
    return this.through(saver, anchor, own, input, placed)
  }

  private async through(
    saver: CounterfoilSaver,
    anchor: Anchor,
    callId: string | null,
    input: unknown,
    placed: PlacedCall | null = null,
  ): Promise<Made> {
    const { call, task } = this
    const desk = deskOf(call.cf)
    const seat: Seat = desk.join(task, anchor)
    const tool = this.tool(anchor, input, saver.serde)
    const { standsFor } = anchor
    const options = {
      ...(callId === null ? {} : { callId }),
      ...(placed === null ? {} : { placed }),
      standsFor,
    }
    const isPure = call.rules.replayClass === 'pure'
    const called = isPure ? () => {} : this.sends(anchor)
    let failed = false
    try {
      const name = callId === null ? null : `${call.name}/${callId}`
      if (!isPure) {
        await seat.begun(() => checkNotDone(call.cf, task, anchor, call.name))
        await this.ownTurn(saver, anchor)
      }
      return await seat.call(name, (scope) => scope.call(tool, input, options))
    } catch (error) {
      if (isCounterfoilError(error, 'REPLAY_UNSAFE')) {
        throw await interruptFor(call.cf, task, error as ReplayUnsafeError, this.hint)
      }
      // What was withdrawn has a record to come back to, and what failed otherwise is over.
      const ended = this.isHosts(error) && this.thrown === null
      if (!ended && !isPure) desk.end(seat)
      failed = !this.isHosts(error)
      throw error
    } finally {
      called(failed)
      await desk.leave(seat)
    }
  }

  /** Its tasks have something to write before the turn of the invocation is over. */
  private sends({ levels }: Anchor): (failed: boolean) => void {
    const { config } = this.task
    const all = levels.flatMap((level) => {
      const mark = markOf(config, level)
      return mark ? [{ mark, task: level.task }] : []
    })
    for (const { mark, task } of all) mark.sending.set(task, (mark.sending.get(task) ?? 0) + 1)
    const spaces = spacesOf(this.call.cf)
    return (failed) => {
      for (const { mark, task } of all) spaces.called(mark, task, failed)
    }
  }

  /** The turn at each checkpoint that it is made from; at the last one its place is on record. */
  private async ownTurn(saver: CounterfoilSaver, anchor: Anchor): Promise<void> {
    const { levels, nodeId, checkpointId } = anchor
    for (const [i, level] of levels.entries()) {
      const mark = markOf(this.task.config, level)
      if (mark === undefined) continue
      const place = { task: level.task, nodeId, checkpointId }
      const isOwn = i === levels.length - 1
      await ownTurn(saver, mark, level, isOwn ? [place] : [], this.call.name)
      if (isOwn) mark.claimed.add(placeKey(place))
    }
  }

  /** The call as the engine knows it: what it does is to run the host's function. */
  private tool(anchor: Anchor, input: unknown, serde: SerializerProtocol): Tool {
    const { rules, name } = this.call
    const { interrupts: _, allowIdentical: __, output, ...spec } = rules
    const { misfit } = this.call
    const isPure = rules.replayClass === 'pure'
    const { probe, externalId, usage, idempotencyKey } = spec
    const seen = (plain: unknown) => (this.raw ? this.raw.value : plain)
    return makeTool(name, {
      ...spec,
      ...(isPure ? { timeoutMs: noTimeoutMs } : {}),
      ...(output && { output: revived(output, serde) }),
      ...(misfit && !isPure && { output: revived(fitting(misfit), serde) }),
      run: (given: unknown, info: CallInfo) => this.run(given, info, anchor, input, serde),
      ...(externalId && { externalId: (plain: unknown) => externalId(seen(plain)) }),
      ...(usage && { usage: (plain: unknown) => usage(seen(plain)) }),
      ...(idempotencyKey && { idempotencyKey: keyOf(idempotencyKey) }),
      ...(probe && {
        probe: async (given: unknown, info: CallInfo) => {
          const said = await probe(given, info)
          if (said.landed !== 'yes') return said
          this.raw = { value: said.result }
          return { ...said, result: await toPlain(serde, said.result) }
        },
      }),
    })
  }

  private async run(
    given: unknown,
    info: CallInfo,
    anchor: Anchor,
    input: unknown,
    serde: SerializerProtocol,
  ): Promise<unknown> {
    const { call } = this
    const { index } = anchor
    if (call.rules.replayClass !== 'pure') await this.checkTurn(anchor)
    const same = canonical(given ?? null) === canonical(input ?? null)
    try {
      const edited = same ? null : { value: await fromInput(serde, given) }
      const how = { edited, index, signal: this.signalFor(info) }
      const shown = infoFor(info, call.callId)
      const value = await this.within(
        this.inHost(async () => infos.run(shown, async () => call.run(how))),
      )
      this.raw = { value }
      return await toPlain(serde, value)
    } catch (error) {
      throw this.ended(error)
    }
  }

  /**
   * An invocation that is aborted lets a call end that is not pure and under way: LangChain's tools
   * reject at once while their function runs on, and nobody would know what became of it.
   */
  private signalFor({ abortSignal }: CallInfo): AbortSignal {
    const { signal } = this.task.config
    const isPure = this.call.rules.replayClass === 'pure'
    return isPure && signal ? AbortSignal.any([signal, abortSignal]) : abortSignal
  }

  /**
   * Once more, now that the intent is in the ledger: a branch looks for records after it has put
   * its checkpoint. So either it finds this one, or this one finds that the thread has moved.
   */
  private async checkTurn({ levels }: Anchor): Promise<void> {
    const { cf, name } = this.call
    await checkTurn(cf, this.task.config, levels, name).catch((error) => {
      throw new WithdrawnError(error, 'no')
    })
  }

  /** How a function that has thrown has ended, in the engine's terms. */
  private ended(error: unknown): unknown {
    const { rules, name } = this.call
    // Nothing is lost by making it again; so a retry policy of LangGraph's can.
    if (rules.replayClass === 'pure') return new WithdrawnError(this.hosts(error), 'unknown')
    if (!isBubble(error)) return error
    if (rules.replayClass === 'idempotent_with_key') {
      return new WithdrawnError(this.hosts(error), 'unknown')
    }
    if (rules.interrupts === true) return new WithdrawnError(this.hosts(error), 'no')
    this.hint =
      `${name} has called interrupt(), and nobody knows whether it had sent anything before. If ` +
      `it never has, declare ${name}: { replayClass: 'unsafe_on_replay', interrupts: true }`
    return new Error(this.hint, { cause: error })
  }

  /** The time limit of a pure call, which the engine would record as its end. */
  private async within(work: Promise<unknown>): Promise<unknown> {
    const { rules, cf, name } = this.call
    const { timeoutMs } = rules
    if (rules.replayClass !== 'pure' || timeoutMs === undefined) return work
    let cancel = () => {}
    const late = new Promise<never>((_, reject) => {
      const message = `${name} did not answer within ${timeoutMs} ms`
      const error = Object.assign(new Error(message), { name: 'TimeoutError' })
      cancel = cf.store.clock.after(timeoutMs, () => reject(error))
    })
    return Promise.race([work, late]).finally(() => cancel())
  }
}

function saverOf(cf: Counterfoil, { checkpointer, threadId }: Task): CounterfoilSaver | null {
  const usable = checkpointer instanceof CounterfoilSaver && checkpointer.cf === cf
  return usable && threadId !== '' ? checkpointer : null
}

function keyOf(key: NonNullable<GuardRules['idempotencyKey']>): typeof key {
  // A recorded key is a mark, not a function that is called.
  return isRecordedKey(key) ? key : (input, info) => key(input, info)
}
