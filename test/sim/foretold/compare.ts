// What was foretold of a run, beside what has become of it.
import type { Preview, PreviewCall } from '../../../src/client/run/preview.ts'
import { type Item, keyOf } from '../../../src/model/run/records.ts'
import type { Lab } from '../../lab.ts'
import type { Upstream } from './world.ts'

export interface Before {
  readonly preview: Preview
  readonly sent: number
  readonly probes: number
  readonly items: ReadonlySet<string>
}

function placeOf({ tool, nth }: { tool: string; nth: number }): string {
  return `${tool}#${nth}`
}

export class Comparison {
  readonly found: string[] = []
  private readonly lab: Lab
  private readonly upstream: Upstream
  private readonly before: Before

  constructor(lab: Lab, upstream: Upstream, before: Before) {
    this.lab = lab
    this.upstream = upstream
    this.before = before
  }

  static async begin(lab: Lab, upstream: Upstream, preview: Preview): Promise<Comparison> {
    return new Comparison(lab, upstream, {
      preview,
      sent: upstream.sent.length,
      probes: upstream.probes.length,
      items: new Set((await lab.items()).map(({ itemId }) => itemId)),
    })
  }

  get calls(): readonly PreviewCall[] {
    return this.before.preview.calls
  }

  siteOf(call: PreviewCall): string {
    return this.upstream.siteOf(call)
  }

  /** By the part of the program: a person may have put other words in its place. */
  private isSent(call: PreviewCall): boolean {
    const since = this.upstream.sent.slice(this.before.sent)
    return since.some(({ site }) => site === this.siteOf(call))
  }

  /** In these very words: code that has changed may ask for something else at the same place. */
  private isSentAgain(call: PreviewCall): boolean {
    const since = this.upstream.sent.slice(this.before.sent)
    return since.some(({ inputHash }) => inputHash === call.inputHash)
  }

  private probedSince(call: PreviewCall): boolean {
    return this.upstream.probes.slice(this.before.probes).includes(this.siteOf(call))
  }

  /** What may never happen, also if the next process is killed at any moment. */
  async never(): Promise<void> {
    for (const call of this.calls) {
      const keyed = call.replayClass === 'idempotent_with_key'
      // A probe that does not know lets a call be sent again that has a key.
      const maySend = call.action === 'rerun' || (call.action === 'probe' && keyed)
      const sent = this.isSentAgain(call)
      if (!maySend && sent) this.find(call, 'was sent')
      if (call.action !== 'probe' && this.probedSince(call) && !sent) {
        this.find(call, 'was probed')
      }
    }
    await this.noOther()
  }

  /** Nobody is asked about what was to be answered. */
  private async noOther(): Promise<void> {
    const fresh = (await this.lab.items()).filter(({ itemId }) => !this.before.items.has(itemId))
    for (const {
      reason,
      body: { subject },
    } of fresh) {
      const place = subject ? placeOf(subject) : 'the run'
      const call = this.calls.find((each) => subject && keyOf(each) === keyOf(subject))
      if (call?.action === 'replay') this.find(call, `is asked about: ${reason}`)
      if (reason === 'drift') this.found.push(`${place}: drift`)
    }
  }

  /** What must have happened when the next process has come to its end by itself. */
  async ended(end: string): Promise<void> {
    const items = await this.lab.items()
    const rows = new Map((await this.lab.records()).map((row) => [keyOf(row), row]))
    const doubted = items.some(({ kind }) => kind === 'doubt')
    const foretold = this.calls.some(({ action }) => action === 'park' || action === 'probe')
    for (const call of this.calls) {
      if (call.action === 'park' && end !== 'parked') this.find(call, `and the run is ${end}`)
      if (doubted || foretold) continue
      if (call.action === 'rerun' && !this.isSent(call)) this.find(call, 'was not sent')
      const settled = rows.get(keyOf(call))?.settledAt !== null
      if (call.action === 'replay' && !settled) this.find(call, 'is not settled')
    }
    if (this.calls.some(({ action }) => action === 'park') && !doubted) {
      this.found.push('nobody was asked')
    }
  }

  /** What is still to come true, once every doubt before it is decided. */
  due(asked: readonly Item[]): PreviewCall[] {
    const isAsked = (call: PreviewCall) =>
      asked.some(({ body: { subject } }) => subject && keyOf(subject) === keyOf(call))
    return this.calls.filter((call) => {
      if (call.action === 'park') return !isAsked(call)
      // Its key may be forgotten while others are decided.
      if (call.action === 'rerun') return !this.isSent(call) && !isAsked(call)
      return call.action === 'probe' && !this.probedSince(call)
    })
  }

  find({ action, why, ...call }: PreviewCall, what: string): void {
    this.found.push(`${placeOf(call)} was to ${action} (${why}), and ${what}`)
  }
}
