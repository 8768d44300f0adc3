// Removes what nobody needs any more: idle threads (`ttlMs`), and all but the latest steps
// (`keepSteps`). What is removed of a space goes in one transaction, which the store refuses if it
// would take away what another step is a change to; then it is planned anew.
import { INTERRUPT, type SerializerProtocol } from '@langchain/langgraph-checkpoint'
import { bodySum, type Counterfoil } from '../../../index.ts'
import { turnId } from '../line/turn-row.ts'
import { type Row, type Space, wholeBody } from './chain.ts'
import { busy, type SaverOptions, triesMax } from './config.ts'
import { type Keeping, keeping, type SpaceSteps } from './keep.ts'
import { StepReader } from './reader.ts'
import { openValue } from './write.ts'

export interface Pruned {
  readonly threads: number
  /** Those of removed threads included. */
  readonly steps: number
}

// So often are idle threads looked for while steps are put, and so many are removed at a time.
const sweepMsMax = 60_000
const sweepCountMax = 16

export class Pruner {
  readonly #cf: Counterfoil
  readonly #serde: SerializerProtocol
  readonly #options: SaverOptions
  readonly #forget: (threadId: string) => void
  /** Steps put since the thread was last looked at. */
  readonly #puts = new Map<string, number>()
  #sweptAt: number

  constructor(
    cf: Counterfoil,
    serde: SerializerProtocol,
    options: SaverOptions,
    forget: (threadId: string) => void,
  ) {
    this.#cf = cf
    this.#serde = serde
    this.#options = options
    this.#forget = forget
    this.#sweptAt = cf.store.clock.now()
  }

  async all(): Promise<Pruned> {
    const { ttlMs, keepSteps } = this.#options
    let [threads, steps] = [0, 0]
    const now = this.#cf.store.clock.now()
    for (const threadId of await this.#idle(now + 1, Number.MAX_SAFE_INTEGER)) {
      const dropped = ttlMs === undefined ? 0 : await this.#dropIdle(threadId, now - ttlMs)
      if (dropped > 0) threads++
      steps += dropped > 0 || keepSteps === undefined ? dropped : await this.#cut(threadId)
    }
    return { threads, steps }
  }

  /** A little of it, after a step was put. It has been: no failure here may look like one of it. */
  async afterPut(threadId: string): Promise<void> {
    const { ttlMs, keepSteps } = this.#options
    try {
      if (keepSteps !== undefined && this.#isDue(threadId, keepSteps)) await this.#cut(threadId)
      const now = this.#cf.store.clock.now()
      if (ttlMs === undefined || now - this.#sweptAt < Math.min(ttlMs, sweepMsMax)) return
      this.#sweptAt = now
      for (const idle of await this.#idle(now - ttlMs, sweepCountMax)) {
        await this.#dropIdle(idle, now - ttlMs)
      }
    } catch (error) {
      process.emitWarning(`threads were not pruned: ${String(error)}`, 'Counterfoil')
    }
  }

  // Every so many steps, so that a thread has at most twice as many as it keeps.
  #isDue(threadId: string, keepSteps: number): boolean {
    const puts = (this.#puts.get(threadId) ?? 0) + 1
    this.#puts.delete(threadId)
    if (puts >= Math.max(keepSteps, 8)) return true
    this.#puts.set(threadId, puts)
    const [oldest] = this.#puts.keys()
    if (this.#puts.size > 10_000 && oldest !== undefined) this.#puts.delete(oldest)
    return false
  }

  #idle(before: number, countMax: number): Promise<string[]> {
    return this.#cf.threads.listIdleThreads(before, countMax)
  }

  /**
   * The steps that are there go, and no others: a thread that somebody goes on with meanwhile has
   * new ones, or new forms of these, which stay. How many went; none if it is not idle, or waits at
   * an interrupt.
   */
  async #dropIdle(threadId: string, before: number): Promise<number> {
    const spaces = await this.#read(threadId)
    const rows = [...spaces.values()].flatMap((space) => space.rows)
    if (rows.some(({ createdAt }) => createdAt >= before)) return 0
    const open = [...spaces.values()].flatMap(({ open }) => [...open.values()].flat())
    if (open.includes(INTERRUPT)) return 0
    let count = 0
    for (const [space, { rows, turns }] of spaces) {
      const place: Space = { threadId, space }
      const all = going([...rows, ...turns])
      if (!(await this.#cf.threads.pruneSteps(place, { whole: [], ...all }))) break
      count += rows.length
    }
    this.#forget(threadId)
    return count
  }

  /** All but the latest steps of a thread, and what those need. */
  async #cut(threadId: string): Promise<number> {
    const { keepSteps } = this.#options
    if (keepSteps === undefined) return 0
    for (let tries = 0; tries < triesMax; tries++) {
      const reader = new StepReader(this.#cf.threads)
      const spaces = await this.#read(threadId)
      const kept = await keeping(spaces, keepSteps, reader, (row) => this.#metadata(row))
      const count = kept === null ? null : await this.#drop(threadId, spaces, kept, reader)
      if (count !== null) return count
    }
    throw busy(`thread ${threadId} could not be pruned: it`)
  }

  /** Null if somebody was quicker. A parent goes before the subgraphs that it was the parent of. */
  async #drop(
    threadId: string,
    spaces: ReadonlyMap<string, SpaceSteps>,
    kept: Keeping,
    reader: StepReader,
  ): Promise<number | null> {
    let count = 0
    for (const [space, { rows }] of spaces) {
      const stays = kept.get(space) ?? new Set()
      const { drop, seen } = going(rows.filter(({ stepId }) => !stays.has(stepId)))
      if (drop.length === 0) continue
      const gone = new Set(drop)
      const whole: Row[] = []
      for (const row of rows) {
        if (row.whole || gone.has(row.stepId) || !gone.has(row.parentId ?? '')) continue
        const step = await reader.stepOf(row)
        if (step === null) return null
        seen.set(row.stepId, bodySum(row.bodyJson))
        whole.push({ ...row, whole: true, bodyJson: wholeBody(step) })
      }
      const place: Space = { threadId, space }
      if (!(await this.#cf.threads.pruneSteps(place, { whole, drop, seen }))) return null
      count += drop.length
    }
    return count
  }

  /** By space, the thread itself first and a subgraph after what it is in. */
  async #read(threadId: string): Promise<Map<string, SpaceSteps>> {
    const rows: Row[] = []
    for (let cursor: string | undefined; ; ) {
      const asked = {
        threadId,
        aside: true,
        countMax: 200,
        ...(cursor === undefined ? {} : { cursor }),
      }
      const page = await this.#cf.threads.listSteps(asked)
      rows.push(...page.items)
      if (page.next === null) break
      cursor = page.next
    }
    const names = [...new Set(rows.map(({ space }) => space))]
    const spaces = new Map<string, SpaceSteps>()
    for (const space of names.sort((a, b) => depthOf(a) - depthOf(b))) {
      const all = rows.filter((row) => row.space === space)
      const of = all.filter(({ stepId }) => stepId !== turnId)
      const turns = all.filter(({ stepId }) => stepId === turnId)
      const parents = new Set(of.map(({ parentId }) => parentId))
      const leaves = of.map(({ stepId }) => stepId).filter((stepId) => !parents.has(stepId))
      const open = new Map<string, string[]>()
      for (const { stepId, channel } of await this.#writes({ threadId, space }, leaves)) {
        open.set(stepId, [...(open.get(stepId) ?? []), channel])
      }
      spaces.set(space, { rows: of, turns, open })
    }
    return spaces
  }

  #writes(space: Space, stepIds: readonly string[]) {
    return this.#cf.threads.listWrites(space, stepIds)
  }

  #metadata(row: Row) {
    return openValue(this.#serde, row.noteJson, `the metadata of checkpoint ${row.stepId}`)
  }
}

/** These rows as they were read, and in no other form. */
function going(rows: readonly Row[]) {
  const seen = new Map(rows.map(({ stepId, bodyJson }) => [stepId, bodySum(bodyJson)]))
  return { drop: [...seen.keys()], seen }
}

/** How many subgraphs deep a space is. */
function depthOf(space: string): number {
  return space === '' ? 0 : space.split('|').length
}
