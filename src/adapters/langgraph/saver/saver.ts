// The checkpointer of a LangGraph graph on a store of Counterfoil, in one database with the ledger
// of the graph's tool calls.
//
// Owns: what LangGraph asks of a checkpointer. Does not own: what rows say (saver-chain.ts,
// saver-write.ts), what may be pruned (saver-prune.ts), what guard() has to know (spaces.ts).
import type { RunnableConfig } from '@langchain/core/runnables'
import {
  BaseCheckpointSaver,
  type ChannelVersions,
  type Checkpoint,
  type CheckpointListOptions,
  type CheckpointMetadata,
  type CheckpointPendingWrite,
  type CheckpointTuple,
  type DeltaChannelHistory,
  maxChannelVersion,
  type PendingWrite,
  type SerializerProtocol,
  TASKS,
  WRITES_IDX_MAP,
} from '@langchain/langgraph-checkpoint'
import {
  asidePrefix,
  bodySum,
  type Counterfoil,
  isAside,
  type ThreadWrite,
} from '../../../index.ts'
import { sweepMs } from '../../../model/limits.ts'
import { noteStored } from '../line/branch-notes.ts'
import { Heard } from '../line/heard.ts'
import { beginsAt } from '../line/left.ts'
import { aroundOf, isInvocation, type Mark, markOf, marksOf, withMark } from '../line/line.ts'
import { free, hasTurned, type Stand } from '../line/stand.ts'
import { turnId } from '../line/turn-row.ts'
import { StepCache } from './cache.ts'
import {
  idOf,
  isPut,
  nameOf,
  type Row,
  readChain,
  type SeenStep,
  type Space,
  type Step,
  writeAgain,
  writeStep,
} from './chain.ts'
import {
  busy,
  checkOptions,
  configOf,
  type SaverOptions,
  spaceOf,
  stepIdOf,
  stepOf,
  threadOf,
  triesMax,
  withRunId,
} from './config.ts'
import { checkpointOf, documentOf } from './document.ts'
import { goesOn, standOf, taskEnds } from './ends.ts'
import { deltaHistory } from './history.ts'
import { isKnownIn } from './known.ts'
import { markBack, markOfFound, type Put, placeOf, written } from './line.ts'
import { matches, pagesOf } from './list.ts'
import { type Pruned, Pruner } from './prune.ts'
import { PutQueue } from './queue.ts'
import { StepReader } from './reader.ts'
import { type Spaces, spacesOf } from './spaces.ts'
import { dump, isLong, openMetadata, openWrite, sealValue, sealWrite } from './write.ts'

export interface CounterfoilSaverOptions extends SaverOptions {
  /** How values are written, if not as LangGraph's own checkpointers do it. */
  readonly serde?: SerializerProtocol
}

/** A checkpointer for LangGraph: `graph.compile({ checkpointer: new CounterfoilSaver(cf) })`. */
export class CounterfoilSaver extends BaseCheckpointSaver {
  readonly cf: Counterfoil
  readonly #cache = new StepCache()
  readonly #pruner: Pruner
  readonly #spaces: Spaces
  readonly #queue = new PutQueue()
  #lookAt = 0

  constructor(cf: Counterfoil, options: CounterfoilSaverOptions = {}) {
    super(options.serde)
    checkOptions(options)
    this.cf = cf
    this.#spaces = spacesOf(cf)
    this.#pruner = new Pruner(cf, this.serde, options, (threadId) => this.#cache.forget(threadId))
  }

  async getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    const space = threadOf(config)
    if (space === undefined) return undefined
    this.#spaces.opened(config)
    this.#lookForLeft()
    const invokes = isInvocation(config)
    if (invokes) this.#spaces.checkWritten(space.threadId, aroundOf(config, space))
    const asked = stepIdOf(config)
    const head = invokes && asked !== null ? await this.cf.threads.headOf(space) : null
    const found = await this.#find(space, asked)
    const writes = found ? await this.cf.threads.listWrites(space, [found.step.stepId]) : []
    const fromId = found === null ? null : idOf(found.row.stepId)
    const headId = asked === null ? fromId : head
    const place = { ...space, fromId, asked: asked !== null, headId, writes }
    const mark = invokes ? markOfFound(config, place) : null
    if (found === null) return undefined
    const { row, step } = found
    this.#cache.set(space, step)
    const tuple = this.#noticed(await this.#tupleOf(row, step, writes), row, mark)
    if (mark !== null) await beginsAt(this, mark)
    return tuple
  }

  async *list(
    config: RunnableConfig,
    options: CheckpointListOptions = {},
  ): AsyncGenerator<CheckpointTuple> {
    this.#spaces.opened(config)
    const reader = new StepReader(this.cf.threads)
    let left = options.limit ?? Number.POSITIVE_INFINITY
    if (left <= 0) return
    const mark = await markBack(this.cf, config, null)
    for await (const page of pagesOf(this.cf.threads, config, options)) {
      const rows: { row: Row; metadata: CheckpointMetadata }[] = []
      for (const row of page) {
        const metadata = await openMetadata(this.serde, row)
        if (rows.length < left && matches(metadata, options.filter)) rows.push({ row, metadata })
      }
      for (const { row } of rows) {
        const step = await reader.stepOf(row)
        if (step === null) continue
        const writes = await this.cf.threads.listWrites(row, [row.stepId])
        const from = mark && (await markBack(this.cf, config, row.stepId))
        yield this.#noticed(await this.#tupleOf(row, step, writes), row, from)
        if (--left <= 0) return
      }
    }
  }

  async put(
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    newVersions?: ChannelVersions,
  ): Promise<RunnableConfig> {
    const space = spaceOf(config)
    // A config of an event may be used to update a state: its mark is of another time.
    const mark = isInvocation(config) ? markOf(config, space) : undefined
    const around = aroundOf(config, space)
    const isLate = marksOf(config).some(({ late }) => late)
    const isOff = mark ? isLate || (await this.#spaces.isOff(space.threadId, around)) : false
    await mark?.answering
    await this.#spaces.storing({ config, checkpoint, metadata, around, mark }, () =>
      this.#inTurn({ space, config, checkpoint, metadata, mark, isOff }, newVersions),
    )
    await mark?.turn?.given()
    await this.#pruner.afterPut(space.threadId)
    return configOf(space, checkpoint.id)
  }

  override putWrites(
    config: RunnableConfig,
    writes: PendingWrite[],
    taskId: string,
  ): Promise<void> {
    const place = threadOf(config)
    const mark = place && markOf(config, place)
    if (place === undefined || mark === undefined) {
      return this.#putWrites(config, writes, taskId).then(() => {})
    }
    const around = [...aroundOf(config, place), { ...place, stepId: stepIdOf(config) ?? '' }]
    const ending = { mark, level: { ...place, stepId: stepIdOf(config) ?? '' }, taskId, writes }
    const put = (stand: Stand) => this.#putWrites(config, writes, taskId, stand)
    const end = () => taskEnds(this, ending, put)
    const work = written(config, writes, mark, () => this.#spaces.adding(around, end))
    if (work !== null) return Heard.of(work)
    this.#spaces.wrote(config, taskId, writes)
    return Promise.resolve()
  }

  async deleteThread(threadId: string): Promise<void> {
    await this.cf.threads.dropThread(threadId)
    this.#cache.forget(threadId)
    this.#spaces.forget(threadId)
  }

  override async getDeltaChannelHistory(options: {
    config: RunnableConfig
    channels: string[]
  }): Promise<Record<string, DeltaChannelHistory>> {
    const space = threadOf(options.config)
    const stepId = stepIdOf(options.config) ?? undefined
    const target = { space, stepId, channels: options.channels }
    return deltaHistory(this.cf.threads, this.serde, target)
  }

  /**
   * Removes what `ttlMs` and `keepSteps` no longer keep, in all threads. It also happens by itself,
   * a little at a time, as steps are put.
   */
  prune(): Promise<Pruned> {
    return this.#pruner.all()
  }

  /** False if somebody else has taken the turn. */
  async #putWrites(
    config: RunnableConfig,
    writes: PendingWrite[],
    taskId: string,
    stand = free,
  ): Promise<boolean> {
    const { space, stepId: id } = stepOf(config)
    this.#spaces.resumed(space.threadId, writes)
    const dumps = await Promise.all(writes.map(([, value]) => dump(this.serde, value)))
    const isSpecial = writes.every(([channel]) => channel in WRITES_IDX_MAP)
    const relates = dumps.some(isLong)
    let known = await this.#whenPut(space, id)
    for (let tries = 0; tries < triesMax; tries++) {
      const stepId = known?.stepId ?? id
      const step = relates ? known : null
      const rows = writes.map(([channel], i) => ({
        ...space,
        stepId,
        taskId,
        channel,
        place: WRITES_IDX_MAP[channel] ?? i,
        bodyJson: sealWrite(dumps[i] as (typeof dumps)[number], channel, step),
      }))
      // What is said as a change to the step goes with it, and not to another in its place.
      const seen = new Map<string, string | null>(step === null ? [] : [[stepId, step.rowSum]])
      if (stand.sum !== undefined) seen.set(turnId, stand.sum)
      if (await this.cf.threads.putWrites(rows, isSpecial, seen)) {
        this.#spaces.wrote(config, taskId, writes)
        return true
      }
      if (await hasTurned(this.cf, space, stand)) return false
      known = await this.#stored(space, id)
    }
    throw busy(`writes of ${nameOf({ ...space, stepId: id })} could not be put: it`)
  }

  /** Whether it was set aside. Waits before it is in the queue: who it waits for may be behind. */
  async #inTurn(given: Put, newVersions: ChannelVersions | undefined): Promise<boolean> {
    const { space } = given
    for (;;) {
      const stand = await standOf(this, given)
      try {
        const isOff = given.isOff || !(await goesOn(this, given, stand))
        const work = () => this.#put({ ...given, isOff }, newVersions, stand)
        const aside = await this.#queue.run(space, work)
        if (aside !== null) return aside
      } finally {
        stand.end()
      }
    }
  }

  /** Whether it was set aside; null if somebody else has taken the turn. */
  async #put(
    given: Put,
    newVersions: ChannelVersions | undefined,
    stand: Stand,
  ): Promise<boolean | null> {
    const { space, config, checkpoint, metadata } = given
    const { id } = checkpoint
    const named = stepIdOf(config)
    const parent = named === null ? null : await this.#step(space, named)
    const parentKey = parent?.stepId ?? named
    const isKnown = (channel: string, version: unknown) =>
      isKnownIn(this.cf.threads, space, this.#cache.get(space)?.document, channel, version)
    const document = await documentOf(
      this.serde,
      checkpoint,
      newVersions,
      parent?.document ?? null,
      isKnown,
    )
    const noteJson = sealValue(await dump(this.serde, withRunId(metadata, config)))
    const note = { ...space, noteJson, createdAt: this.cf.store.clock.now() }
    for (let tries = 0; tries < triesMax; tries++) {
      // What this process holds to be true of the space, and then what is true.
      const isNew = tries === 0 && this.#cache.isNew(space, id)
      const earlier = isNew ? null : await this.#find(space, id)
      // A host that ends where it began puts its checkpoint as a child of itself.
      const parentId = named === id ? (earlier?.row.parentId ?? null) : parentKey
      // The answer to an earlier try was lost, or two have put the same: it is there.
      if (earlier !== null && isPut(earlier, { ...note, parentId }, document)) {
        this.#cache.set(space, earlier.step)
        return isAside(earlier.row.stepId)
      }
      const { stepId, head, branches } =
        earlier === null ? await placeOf(this.cf, given, tries) : { stepId: earlier.row.stepId }
      const row = { ...note, stepId }
      const held = parentId === null ? null : parent
      const base =
        tries === 0 || held === null ? held : await this.#stored(space, idOf(held.stepId))
      const { step, whole, bodyJson } =
        earlier === null
          ? writeStep(stepId, document, base)
          : writeAgain(earlier.step, parentId, document)
      const seen = new Map([[stepId, earlier?.step.rowSum ?? null]])
      if (!whole && base !== null) seen.set(base.stepId, base.rowSum)
      if (stand.sum !== undefined && !isAside(stepId)) seen.set(turnId, stand.sum)
      if (await this.cf.threads.putStep({ ...row, parentId, whole, bodyJson }, seen, head)) {
        if (branches) await noteStored(this.cf, space.threadId, stepId)
        this.#cache.set(space, { ...step, parentId, rowSum: bodySum(bodyJson) })
        return isAside(stepId)
      }
      if (await hasTurned(this.cf, space, stand)) return null
    }
    throw busy(`${nameOf({ ...space, stepId: id })} could not be put: it`)
  }

  #noticed(tuple: CheckpointTuple, { stepId }: Row, mark: Mark | null): CheckpointTuple {
    this.#spaces.found(tuple, isAside(stepId))
    return mark === null ? tuple : { ...tuple, config: withMark(tuple.config, mark) }
  }

  /** A process that only reads threads, or sends nothing, asks about what a dead one has left. */
  #lookForLeft(): void {
    const now = this.cf.store.clock.mono()
    if (now < this.#lookAt) return
    this.#lookAt = now + sweepMs
    this.cf.askAboutLeft().catch(() => {}) // whoever needs the store is told
  }

  /** Null if it is not there; what is there and cannot be read is an error. */
  async #find(space: Space, stepId: string | null): Promise<{ row: Row; step: SeenStep } | null> {
    if (stepId === null) {
      const [row] = (await this.cf.threads.listSteps({ ...space, countMax: 1 })).items
      if (row === undefined) return null
      const step = this.#cache.get(space, row.stepId)
      const isSame = step?.rowSum === bodySum(row.bodyJson)
      return step !== null && isSame ? { row, step } : this.#find(space, row.stepId)
    }
    const load = (id: string) => this.cf.threads.loadSteps(space, id)
    const onLine = await load(stepId)
    const rows = onLine.length > 0 ? onLine : await load(`${asidePrefix}${stepId}`)
    const [row, step] = [rows.at(-1), readChain(rows).at(-1)]
    if (row === undefined || step === undefined) return null
    return { row, step: { ...step, rowSum: bodySum(row.bodyJson) } }
  }

  async #step(space: Space, stepId: string): Promise<SeenStep | null> {
    return this.#cache.get(space, stepId) ?? this.#stored(space, stepId)
  }

  async #stored(space: Space, stepId: string): Promise<SeenStep | null> {
    return (await this.#find(space, stepId))?.step ?? null
  }

  /**
   * The step that writes are of, once it is in the store. LangGraph puts checkpoints one after the
   * other, and does not wait for them: the tasks of a step may be over before its turn has come.
   */
  async #whenPut(space: Space, stepId: string): Promise<SeenStep | null> {
    for (;;) {
      const step = this.#cache.get(space, stepId)
      const putting = this.#queue.last(space)
      if (step !== null || putting === undefined) return step ?? this.#step(space, stepId)
      await putting.catch(() => {})
      await new Promise<void>((resolve) => this.cf.store.clock.turn(resolve))
    }
  }

  async #tupleOf(row: Row, step: Step, writes: readonly ThreadWrite[]): Promise<CheckpointTuple> {
    const { stepId, parentId } = row
    const space = { threadId: row.threadId, space: row.space }
    const checkpoint = await checkpointOf(this.serde, step.document, idOf(stepId))
    if (checkpoint.v < 4 && parentId !== null) await this.#addSends(space, parentId, checkpoint)
    return {
      config: configOf(space, idOf(stepId)),
      checkpoint,
      metadata: await openMetadata(this.serde, row),
      pendingWrites: await this.#writesOf(writes, step),
      ...(parentId === null ? {} : { parentConfig: configOf(space, idOf(parentId)) }),
    }
  }

  #writesOf(writes: readonly ThreadWrite[], step: Step | null): Promise<CheckpointPendingWrite[]> {
    return Promise.all(writes.map((write) => openWrite(this.cf.threads, this.serde, write, step)))
  }

  /** Checkpoints before format 4 had the packets to send among the writes of their parent. */
  async #addSends(space: Space, parentId: string, checkpoint: Checkpoint): Promise<void> {
    const all = await this.cf.threads.listWrites(space, [parentId])
    const writes = all.filter(({ channel }) => channel === TASKS)
    const step = writes.length === 0 ? null : await this.#step(space, idOf(parentId))
    const sends = (await this.#writesOf(writes, step)).map(([, , value]) => value)
    const versions = Object.values(checkpoint.channel_versions)
    checkpoint.channel_values[TASKS] = sends
    checkpoint.channel_versions[TASKS] =
      versions.length > 0 ? maxChannelVersion(...versions) : this.getNextVersion(undefined)
  }
}
