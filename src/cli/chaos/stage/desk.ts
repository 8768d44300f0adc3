// Whoever runs wait for. Doubts are decided by the upstream's log, and so truthfully; approvals,
// questions, signals and callbacks by what the file says, else by rule.

import { isClaim } from '../../../model/decisions/approval.ts'
import type { DecideRequest } from '../../../model/decisions/decide.ts'
import { neededFor } from '../../../model/decisions/vote.ts'
import { type CounterfoilError, errorFor, isCounterfoilError } from '../../../model/errors.ts'
import { canonical } from '../../../model/json/canonical.ts'
import { type Item, isAsked, keyOf } from '../../../model/run/records.ts'
import { refusedText } from '../judge/blame.ts'
import { countOf, type Totals } from '../judge/totals.ts'
import type { ChaosDoubt } from '../report/report.ts'
import type { Asked, Desk, Entry, Ruling, Stage } from '../types.ts'
import { runsOf } from './idle.ts'
import { callAt } from './words.ts'

type Said = Pick<DecideRequest, 'outcome' | 'result'>
interface Landed {
  readonly value: unknown
  readonly entry: Entry
}

// A flaky upstream fails a few times. One that has failed as often for one call fails for ever.
const failuresMax = 10
// Asked once more what was answered: the answer was not taken.
const repeatsMax = 2

export interface Truth {
  /** What a call is answered with whose process died before it could say. */
  resultOf(entry: Entry): unknown
}

export class Attendant {
  readonly doubts: ChaosDoubt[] = []
  private readonly stage: Stage
  private readonly truth: Truth
  /** Tools of which a function was cut, and nobody could say whether it had done its work. */
  readonly presumed = new Set<string>()
  private readonly before: Totals
  /** How many cut functions of a tool have done their work, by the sandbox's count. */
  private readonly cutDone = new Map<string, number>()
  /** What somebody else's runtime was told to wait for, when it was last attended. */
  scoped: readonly string[] = []
  /** A mock has thrown at one call again and again: nothing will come of it. */
  isStuck = false
  /** How often the same call was said to have happened. */
  private readonly told = new Map<string, number>()
  private readonly called = new Set<string>()
  private readonly signals = new Map<string, number>()

  /** `before`: what the sandbox had counted when the stage was opened. */
  constructor(stage: Stage, truth: Truth, before: Totals) {
    this.stage = stage
    this.before = before
    this.truth = truth
  }

  /** Does all that is waited for now; false if there was nothing. */
  attend(): Promise<boolean> {
    return this.stage.look(async (desk) => {
      const decided = await this.decideAll(desk)
      const called = await this.callBack(desk)
      const signalled = decided > 0 ? 0 : await this.signalAll(desk)
      return decided + called + signalled > 0
    })
  }

  private async decideAll(desk: Desk): Promise<number> {
    const { items } = await desk.inbox.list({ countMax: 500 })
    this.scoped = items.filter(({ body }) => body.scope !== null).map(({ title }) => title)
    for (const item of items) {
      const said = await (item.kind === 'doubt' ? this.doubt(item) : this.rule(item))
      await this.say(desk, item, said)
    }
    return items.length
  }

  private async say(desk: Desk, item: Item, said: Said): Promise<void> {
    const outcome = said.outcome
    const approval = item.body.approval ?? null
    const needed = outcome === 'approve' || outcome === 'reject' ? neededFor(approval, outcome) : 1
    const names = (approval?.deciders ?? []).filter((name) => !isClaim(name))
    const claims = (approval?.deciders ?? []).filter(isClaim)
    let { version } = item
    for (let voice = 0; voice < needed; voice++) {
      const by = names[voice] ?? `chaos-${voice + 1}`
      const how = { by, claims, version, madeSure: true, reason: 'chaos: by the upstream’s log' }
      await desk.inbox.decide(item.itemId, { ...said, ...how }).catch((error) => {
        if (!isCounterfoilError(error, 'OUTPUT_INVALID')) throw error
        throw unusable(
          `mocks.${item.body.subject?.tool} answered what does not fit: ${error.message}`,
        )
      })
      if (needed > 1) version = (await desk.inbox.get(item.itemId)).version
    }
  }

  private async doubt(item: Item): Promise<Said> {
    const { reason, title, body } = item
    const tool = body.subject?.tool ?? null
    const landed = reason === 'unknown' ? await this.landed(item) : null
    const happened = landed !== null
    this.doubts.push({ tool, reason: reason ?? '', title, happened })
    if (reason === 'poison') return { outcome: 'resume' }
    // What should not be asked ends the run: its end tells.
    if (reason !== 'unknown') return { outcome: 'abandon' }
    if (landed) {
      this.tell(item, landed)
      return { outcome: 'happened', result: landed.value }
    }
    const givenUp = this.sendsOf(item).some(
      ({ reply }) => reply?.ok === false && reply.error.givenUp,
    )
    return { outcome: givenUp ? 'fail' : 'did_not_happen' }
  }

  /** The same answer is not given for ever. */
  private tell({ runId, generation, visit, body }: Item, { value, entry }: Landed): void {
    const call = canonical([runId, generation, visit, body.subject])
    const count = (this.told.get(call) ?? 0) + 1
    this.told.set(call, count)
    if (count > repeatsMax) throw unusable(refusedText(entry, value))
  }

  /** What the upstream was asked for the call that an item is about. */
  private sendsOf({ runId, generation, visit, body }: Item): Entry[] {
    if (body.subject === null) return []
    const call = `${generation}#${visit}/${keyOf(body.subject)}`
    return this.stage
      .entries()
      .filter(({ what, runId: of, callId }) => what === 'run' && of === runId && callId === call)
  }

  private async landed(item: Item): Promise<Landed | null> {
    const found = this.sendsOf(item)
    const answered = found.find(({ reply }) => reply?.ok)
    if (answered?.reply?.ok) return { value: answered.reply.value ?? null, entry: answered }
    const done = found.find(({ reply, effects }) => reply !== null && (effects ?? 0) > 0)
    if (done) return { value: this.truth.resultOf(done), entry: done }
    if (found.filter(({ reply }) => reply?.ok === false).length >= failuresMax) this.isStuck = true
    const cut = found.find(({ reply, real }) => real && reply === null)
    if (!cut || !(await this.isDone(cut))) return null
    return { value: this.truth.resultOf(cut), entry: cut }
  }

  /** Of a function that died half-way. Without a count: never again is the careful answer. */
  private async isDone({ tool }: Entry): Promise<boolean> {
    const now = countOf(await this.stage.totals(), tool)
    if (now === undefined) {
      this.presumed.add(tool)
      return true
    }
    const answered = this.stage
      .entries()
      .filter((entry) => entry.what === 'run' && entry.tool === tool && entry.reply?.ok).length
    const known = answered + (this.cutDone.get(tool) ?? 0)
    if (now - (countOf(this.before, tool) ?? 0) <= known) return false
    this.cutDone.set(tool, (this.cutDone.get(tool) ?? 0) + 1)
    return true
  }

  private async rule(item: Item): Promise<Said> {
    const { title, queue, runId, body } = item
    const { subject } = body
    const held = subject !== null && !isAsked(subject.tool)
    const asked: Asked = {
      kind: item.kind === 'question' ? 'question' : 'approval',
      title,
      queue,
      runId,
      data: held ? body.input : body.data,
      tool: held ? subject.tool : null,
      call: subject && callAt(item.visit, subject),
    }
    const answer = await named('answers', title, this.stage.answer(asked))
    if (item.kind === 'question') {
      const name = JSON.stringify(title)
      if (answer === undefined) throw unanswered(`asks ${name}`, `answers = { ${name}: … }`)
      return { outcome: 'respond', result: answer }
    }
    return rulingOf(answer as Ruling | undefined, title)
  }

  /** Upstreams of asynchronous tools call back with what their mock returned. */
  private async callBack(desk: Desk): Promise<number> {
    let count = 0
    for (const { token, reply } of this.stage.entries()) {
      if (token === null || reply === null || this.called.has(token)) continue
      this.called.add(token)
      if (!reply.ok) continue
      await desk.callbacks.settle(token, reply.value)
      count++
    }
    return count
  }

  private async signalAll(desk: Desk): Promise<number> {
    let count = 0
    for (const run of await runsOf(desk.store, desk.namespace)) {
      if (run.state !== 'waiting_tool' || run.waitingFor?.kind !== 'signal') continue
      for (const name of run.waitingFor.names ?? []) {
        const data = await named('signals', name, this.stage.signal(name, run.runId))
        if (data === undefined) {
          // Its time will be over.
          if (run.wakeAt !== null) continue
          throw unanswered(`waits for the signal ${name}`, `signals = { ${name}: … }`)
        }
        const place = `${run.runId}/${name}`
        const nth = (this.signals.get(place) ?? 0) + 1
        this.signals.set(place, nth)
        await desk.run(run.runId).signal(name, data, { id: `chaos-${name}-${nth}` })
        count++
      }
    }
    return count
  }
}

function rulingOf(ruling: Ruling | undefined, title: string): Said {
  if (ruling === undefined || ruling === 'approve') return { outcome: 'approve' }
  if (ruling === 'reject') return { outcome: 'reject' }
  if (typeof ruling === 'object' && ruling !== null) {
    if ('edit' in ruling) return { outcome: 'edit', result: ruling.edit }
    if ('respond' in ruling) return { outcome: 'respond', result: ruling.respond }
  }
  throw errorFor(
    'CHAOS_OPTIONS',
    `the answer to approval ${JSON.stringify(title)} is ${JSON.stringify(ruling)}; it must be ` +
      "'approve', 'reject', { edit: … } or { respond: … }",
  )
}

/** What the user's function throws, with its name. */
async function named(what: string, about: string, said: Promise<unknown>): Promise<unknown> {
  try {
    return await said
  } catch (error) {
    const why = (error as Error)?.message ?? String(error)
    const message = `\`${what}\` threw for ${JSON.stringify(about)}: ${why}`
    throw errorFor('CHAOS_OPTIONS', message)
  }
}

function unusable(message: string): CounterfoilError {
  return errorFor('CHAOS_NO_REFERENCE', message)
}

function unanswered(what: string, line: string): CounterfoilError {
  const message = `the run ${what}, and nobody answers: export const ${line}`
  return errorFor('CHAOS_NO_REFERENCE', message)
}
