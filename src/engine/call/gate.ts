// Owns: the way of a call: validate, match, verdict, and then either an answer from the ledger, an
// attempt (dispatch.ts), a wait, or a doubt.
// Does not own: the order of deliveries (order.ts), attempts and their records (dispatch.ts).

import type { Call } from '../../model/graph/context.ts'
import { keptText, sha256 } from '../../model/json/canonical.ts'
import { ruledRecord } from '../../model/replay/answers.ts'
import { askKey, type Entry, isAboutSent, type Settled } from '../../model/replay/entry.ts'
import { type Verdict, verdict } from '../../model/replay/verdict.ts'
import { type Decision, type DoubtReason, type Item, isHeld } from '../../model/run/records.ts'
import { occurrenceOf } from '../../model/run/scope.ts'
import { validate } from '../../model/tool/schema.ts'
import { stricter, type Tool } from '../../model/tool/tool.ts'
import { askItem, doubtItem, itemChanges, known, leftBehindItem, mostAlike } from '../ask/doubt.ts'
import { askAbout, RiskGate } from '../ask/risk.ts'
import { externalIdOf } from '../attempt/attempt.ts'
import { Dispatch } from '../attempt/dispatch.ts'
import { knownOf, usedGrant } from '../attempt/rows.ts'
import { openApproval } from '../visit/ending.ts'
import { refuseLate } from '../visit/refusal.ts'
import type { Visit } from '../visit/visit.ts'
import { type WaitSpec, Waits } from '../wait/waits.ts'
import {
  type Ask,
  type CallRisk,
  type DoubtBefore,
  IssuedCall,
  type Placed,
  triesSpent,
  unaskedCall,
} from './call.ts'
import { obeyGrant } from './grant.ts'
import { copiedRow, copyOf, findEntry, isCopied, numberCall, placeOf } from './placed.ts'
import { checkOf, noteUnusable, rest, sendsUndecided } from './ruling.ts'

export interface IssueOptions {
  ask?: Ask | null
  risk?: CallRisk
  /** A foreign runtime's own id of the call: it stands for the occurrence. */
  callId?: string | null
  /** The call has a place of its own, by that id. */
  placed?: Placed | null
  /** What the node waits for, instead of sending anything. */
  wait?: WaitSpec
}

const whileParking: readonly Verdict['do'][] = ['doubt', 'stay_parked', 'record_probe']

export class Gate {
  private readonly visit: Visit
  private readonly dispatch: Dispatch
  private readonly risk: RiskGate
  private readonly waits: Waits
  private readonly once = new Map<string, IssuedCall>()
  private held: IssuedCall[] = []
  private readonly doubtBefore: DoubtBefore

  constructor(visit: Visit, doubtBefore: DoubtBefore = () => null) {
    this.visit = visit
    this.doubtBefore = doubtBefore
    this.dispatch = new Dispatch(visit, {
      settle: (call, settled) => this.queue(call, settled, false),
      judge: (call) => this.judge(call, false),
      doubt: (call, reason) => this.doubt(call, reason),
      deny: (call, error) => this.deny(call, error),
    })
    this.risk = new RiskGate(visit, {
      ask: (call) => this.ask(call),
      pass: (call) => {
        if (call.grant) this.dispatch.attempt(call, call.grant)
        else this.judge(call, false)
      },
      deny: (call, error) => this.deny(call, error),
      refuse: (call, why) => this.dispatch.refuse(call, why),
    })
    this.waits = new Waits(visit, {
      settle: (call, settled) => this.queue(call, settled, false),
      judge: (call) => this.judge(call, false),
      intent: (call) => this.dispatch.intent(call),
    })
    visit.waiting = this.waits
    visit.wantsQuiet = () => this.held.length > 0
    visit.onQuiet = () => this.quiet()
  }

  issue(tool: Tool, raw: unknown, options?: IssueOptions): Call<unknown> {
    return this.issued(tool, raw, options).promise
  }

  issued(
    tool: Tool,
    raw: unknown,
    { ask = null, risk = {}, callId = null, placed = null, wait }: IssueOptions = {},
  ): IssuedCall {
    const { visit } = this
    const place = placed ? placeOf(tool.name, callId) : visit.match.nextPlace(tool.name)
    const call = new IssuedCall(tool, place, visit.order.lastSeq, ask, risk)
    call.callId = callId
    call.placed = placed
    call.wait = wait ?? null
    if (visit.phase === 'closed') return visit.hasEnded ? refuseLate(visit, call) : call
    visit.open++
    visit.order.acted()
    try {
      const { input: schema } = tool.rules
      const subject = `input of ${tool.name}`
      const input = schema ? validate(schema, raw, { code: 'INPUT_INVALID', subject }) : raw
      const admit = (valid: unknown) => this.admit(call, valid)
      if (input instanceof Promise) rest(visit, input, admit, (error) => this.deny(call, error))
      else admit(input)
    } catch (error) {
      this.deny(call, error)
    }
    return call
  }

  /** The input is valid: from here on the call has a key, and a record may answer it. */
  private admit(call: IssuedCall, input: unknown): void {
    const { match } = this.visit
    const { name } = call.tool
    call.inputJson = keptText(input === undefined ? null : input)
    call.inputHash = sha256(call.inputJson)
    if (call.tool.rules.oncePerVisit) {
      const first = this.once.get(`${name}/${call.inputHash}`)
      if (first) {
        this.visit.open--
        return call.follow(first)
      }
      this.once.set(`${name}/${call.inputHash}`, call)
    }
    numberCall(match, call)
    const own = match.entries.get(call.key)
    call.entry = findEntry(match, call)
    if (own?.retried) {
      call.retries = own.record
      if (call.entry) call.renumber(call.entry.record.occurrence)
    }
    if (call.entry) this.claim(call, call.entry)
    else this.judge(call, false)
  }

  private claim(call: IssuedCall, entry: Entry): void {
    const { visit } = this
    visit.match.claim(entry)
    call.record = entry.record
    call.unknownBefore = entry.unknownAttempts
    call.replayClass = stricter(entry.record.replayClass, call.tool.replayClass)
    if (entry.record.replayClass !== call.tool.replayClass) {
      const { replayClass: was } = entry.record
      const data = { tool: call.tool.name, was, is: call.tool.replayClass }
      visit.append({ events: [visit.event('class_changed', data)] })
    }
    this.judge(call, false)
    visit.order.acted()
    this.unhold()
  }

  /** Nothing is left that a call without a record could be: those that waited for it go on. */
  unhold(): void {
    if (this.held.length === 0 || this.visit.match.hasUnclaimed()) return
    const held = this.held
    this.held = []
    for (const waiting of held) this.judge(waiting, false)
  }

  /** A call on record that nobody asks for: as the table says, but nothing is sent. */
  lookAt(entry: Entry, tool: Tool): Promise<unknown> {
    const call = unaskedCall(entry, tool, this.visit.order.lastSeq)
    this.visit.open++
    this.claim(call, entry)
    return call.promise
  }

  private judge(call: IssuedCall, quiet: boolean): void {
    const { visit } = this
    if (visit.phase === 'closed') return
    const said = this.verdictOn(call, quiet)
    // While parking nothing is answered or sent, but a person should see all doubts at once, and
    // what a probe has learnt is kept.
    if (visit.phase === 'running' || whileParking.includes(said.do)) this.carryOut(call, said)
  }

  private verdictOn(call: IssuedCall, quiet: boolean): Verdict {
    const { match, opening } = this.visit
    const { entry, record, ruling } = call
    const placed = record === null && (ruling?.settled != null || match.canSend(ruling))
    return verdict({
      replayClass: call.replayClass,
      decided: placed || (entry?.ruling ?? entry?.grant ?? null) !== null,
      record: record && knownOf(this.visit, call, record),
      unmatched: match.hasUnclaimed(),
      quiet,
      unresolved: opening.unresolved.has(askKey(call.subject)),
      alike: call.placed?.answer ? 'answers' : call.alike.length > 0 ? 'asks' : 'none',
      probe: call.probed,
    })
  }

  private carryOut(call: IssuedCall, said: Verdict): void {
    const { visit } = this
    if (sendsUndecided(call, said)) {
      if (call.unasked) return this.doubt(call, 'unknown')
      const asked = call.cleared ? null : this.doubtBefore(call)
      if (asked) return this.clear(call, asked)
    }
    switch (said.do) {
      case 'obey':
        return this.obey(call)
      case 'return':
      case 'throw':
        if (call.entry?.settled) this.queue(call, call.entry.settled, true)
        return
      case 'copy':
        return this.copy(call)
      case 'stay_parked':
        return this.doubt(call, 'unknown')
      case 'wait_for_quiet':
        this.held.push(call)
        return visit.order.arm()
      case 'wait_for_callback':
        if (call.ask === null && !(call.record && isHeld(call.record))) {
          return this.waits.hold(call)
        }
        return this.ask(call)
      case 'probe':
        return this.dispatch.probe(call)
      case 'record_probe':
        return this.dispatch.recordProbe(call)
      case 'dispatch':
        if (call.wait) return this.waits.begin(call)
        if (call.ask) return this.ask(call)
        if (call.replayClass === 'pure') return this.dispatch.pure(call)
        if (visit.policy && !call.passed && call.record === null) return this.risk.consult(call)
        return this.dispatch.attempt(call, null)
      case 'resend':
        if (triesSpent(call)) return this.doubt(call, 'unknown')
        return this.dispatch.attempt(call, null)
      case 'doubt':
        return this.doubt(call, said.reason)
    }
  }

  /** Nothing is sent while a person has to decide something else first. */
  private clear(call: IssuedCall, asked: Promise<Item | null>): void {
    call.cleared = true
    const go = (item: Item | null) => (item ? this.visit.doubt(item, {}) : this.judge(call, false))
    rest(this.visit, asked, go, (error) => this.deny(call, error))
  }

  private obey(call: IssuedCall): void {
    const { visit } = this
    const { entry } = call
    if (entry?.ruling)
      return this.obeyAnswer(call, entry.settled, ruledRecord(entry, visit.clock.now()))
    const { grant } = entry ?? {}
    if (entry && grant) {
      const send = () => this.dispatch.attempt(call, grant)
      return obeyGrant(visit, call, entry, grant, { send, ask: () => this.ask(call) })
    }
    const { ruling } = call
    if (ruling?.settled) {
      const { settled, decision } = ruling
      const at = visit.clock.now()
      const row = isCopied(decision) ? copiedRow(this.dispatch.intent(call), settled, at) : null
      return this.obeyAnswer(call, settled, row)
    }
    const send = visit.match.takeSend(ruling)
    if (send) this.obeySend(call, send.decision)
  }

  /**
   * One send is allowed of a call that has no record yet; what the risk policy says still holds.
   */
  private obeySend(call: IssuedCall, grant: Decision): void {
    call.grant = grant
    // The failed record keeps its number: what is tried again has a record of its own.
    if (grant.reason === 'failed') call.renumber(occurrenceOf(grant.decisionId, 0))
    if (call.wait) return this.waits.begin(call)
    if (call.ask) return this.ask(call)
    if (call.replayClass === 'pure') return this.dispatch.pure(call)
    if (this.visit.policy) return this.risk.consult(call)
    this.dispatch.attempt(call, grant)
  }

  private copy(call: IssuedCall): void {
    const { visit } = this
    const answer = call.placed?.answer
    if (!answer) return
    const { settled, changes } = copyOf(visit, call, answer, this.dispatch.intent(call))
    visit.secure()
    visit.append(changes)
    // Whoever looks for a free record next must find that this one is taken.
    visit.log.durable(() => this.queue(call, settled, true))
  }

  /** A person's result is checked like a tool's: one that does not fit is asked for again. */
  private obeyAnswer(
    call: IssuedCall,
    settled: Settled | null,
    record: ReturnType<typeof ruledRecord>,
  ): void {
    const { visit } = this
    if (settled === null) return
    const accept = (value: unknown) => {
      const externalId = settled.ok ? externalIdOf(call.tool, value) : null
      const resultJson = settled.ok && value !== undefined ? keptText(value) : null
      if (record) visit.append({ records: [{ ...record, resultJson, externalId }] })
      const deliver = () => this.queue(call, { ...settled, value }, true)
      if (record && call.alike.length > 0) visit.log.durable(deliver)
      else deliver()
    }
    const check = settled.ok ? checkOf(call, settled.value) : null
    if (check === null) return accept(settled.value)
    const answer = Promise.resolve().then(check)
    rest(visit, answer, accept, (error) => {
      const reason = noteUnusable(visit, call, error)
      if (call.entry) call.entry.ruling = null
      if (call.ask) return this.ask(call)
      this.doubt(call, reason)
    })
  }

  private ask(call: IssuedCall): void {
    const { visit } = this
    // Held in an earlier execution: the item is there, or the policy has to say anew what it wants.
    if (call.ask === null) {
      const open = openApproval(visit.loaded.items, call.subject)
      if (open) return visit.wait(open, null)
      if (visit.policy) return this.risk.consult(call)
      call.held = true
      call.ask = askAbout(call, {})
    }
    const item = askItem(visit, call, call.ask)
    const old = known(visit, item)
    if (old?.state === 'open') return visit.wait(old, null)
    visit.secure()
    const record = this.dispatch.intent(call)
    const asked = visit.event('asked', { item: item.itemId, title: item.title, queue: item.queue })
    const decisions = usedGrant(visit, call)
    visit.wait(item, { records: [record], items: [item], events: [asked], decisions })
  }

  private doubt(call: IssuedCall, reason: DoubtReason): void {
    const { visit } = this
    const item = doubtItem(visit, call, reason)
    const changes = itemChanges(visit, item)
    const record = call.record
    if (record?.status === 'pending' && isAboutSent(reason)) {
      if (call.entry?.verifies !== false) {
        call.record = { ...record, status: 'in_doubt' }
        changes.records = [call.record]
      }
    }
    visit.doubt(known(visit, item) ?? item, changes)
  }

  /**
   * Nothing more can match: the held call that looks most like an unclaimed record is asked about.
   */
  private quiet(): void {
    const { visit } = this
    if (!visit.match.hasUnclaimed()) return
    if (this.held.length === 0) {
      if (visit.leftBehind()) {
        const item = leftBehindItem(visit)
        visit.doubt(known(visit, item) ?? item, itemChanges(visit, item))
      }
      return
    }
    const best = mostAlike(visit, this.held)
    if (best) this.judge(best, true)
  }

  private queue(call: IssuedCall, settled: Settled, replayed: boolean): void {
    this.visit.order.push({
      settled,
      deliver: () => {
        this.visit.open--
        call.answer(settled, replayed && settled.fresh !== true)
      },
    })
  }

  /**
   * Refuses a call that goes no further, in a turn of its own: a loop that catches all starves
   * nobody.
   */
  private deny(call: IssuedCall, error: unknown): void {
    this.visit.order.first(() => {
      this.visit.open--
      call.reject(error)
    })
  }
}
