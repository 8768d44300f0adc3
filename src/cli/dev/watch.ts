// Owns: noticing what becomes of the runs of a store, whoever works on them: it looks when this
// process writes and, for the others, a few times a second. A run that begins and ends between two
// looks is told as both.
import { systemClock } from '../../clock.ts'
import * as limits from '../../model/limits.ts'
import type { Run } from '../../model/run/records.ts'
import { scopeGraph } from '../../model/run/scope.ts'
import { isEnded } from '../../model/run/states.ts'
import type { CoreStore, Page } from '../../store/store.ts'

export interface Happening {
  readonly at: number
  readonly kind: 'started' | 'waiting' | 'item' | 'completed' | 'failed' | 'cancelled'
  readonly runId: string
  readonly graph: string
  readonly itemId: string | null
  readonly text: string
}

/** What there is before anything happens. */
export interface Beginning {
  /** Runs that wait for a person. */
  readonly waiting: number
  /** Runs that have not ended, by their graph. */
  readonly live: ReadonlyMap<string, number>
}

const lookMs = 200

/** Tells what happens from `begin` to `end`. */
export class Watcher {
  private readonly store: CoreStore
  private readonly namespace: string
  private readonly tell: (what: Happening) => void
  /** Runs that have not ended, by id, with what was told of them. */
  private readonly live = new Map<string, string>()
  private readonly items = new Set<string>()
  /** Where the last page of runs begins, and how many of its runs are known. */
  private cursor: string | null = null
  private known = 0
  private looking: Promise<void> | null = null
  private again = false
  private over = false
  private cancel = () => {}
  private stop = () => {}

  constructor(store: CoreStore, namespace: string, tell: (what: Happening) => void) {
    this.store = store
    this.namespace = namespace
    this.tell = tell
  }

  /** What is there already is no news. */
  async begin(): Promise<Beginning> {
    const live = (await this.newRuns()).filter((run) => !isEnded(run.state))
    for (const run of live) this.live.set(run.runId, told(run))
    this.stop = this.store.onChange(() => void this.look())
    this.beat()
    const counts = new Map<string, number>()
    for (const { graph, version } of live.filter((run) => run.graph !== scopeGraph.name)) {
      counts.set(`${graph}@${version}`, (counts.get(`${graph}@${version}`) ?? 0) + 1)
    }
    return {
      waiting: live.filter((run) => run.state === 'waiting_human').length,
      live: counts,
    }
  }

  async end(): Promise<void> {
    this.over = true
    this.cancel()
    this.stop()
    await this.look()
  }

  private beat(): void {
    this.cancel = systemClock.after(lookMs, () => {
      void this.look().then(() => {
        if (!this.over) this.beat()
      })
    })
  }

  private look(): Promise<void> {
    if (this.looking) {
      this.again = true
      return this.looking
    }
    // A store that is busy now is looked at again; the worker itself says what goes wrong with it.
    this.looking = this.lookOnce()
      .catch(() => {})
      .then(() => {
        this.looking = null
      })
    return this.looking
  }

  private async lookOnce(): Promise<void> {
    do {
      this.again = false
      for (const [runId, before] of this.live) {
        const run = await this.store.getRun({ namespace: this.namespace, runId })
        if (run) await this.note(run, before)
      }
      for (const run of await this.newRuns()) {
        this.tell(happening(run, 'started', `${run.graph}@${run.version}`, run.createdAt))
        await this.note(run, '')
      }
    } while (this.again)
  }

  private async note(run: Run, before: string): Promise<void> {
    const { state } = run
    if (isEnded(state)) {
      this.live.delete(run.runId)
      this.tell(happening(run, state as 'completed' | 'failed' | 'cancelled', endOf(run)))
      return
    }
    const now = told(run)
    this.live.set(run.runId, now)
    if (state !== 'waiting_human' || now === before) return
    const count = run.waitingFor?.items.length ?? 0
    const what = run.waitingFor?.kind === 'question' ? 'an answer' : 'a decision'
    this.tell(happening(run, 'waiting', `for ${what}${count > 1 ? ` about ${count} calls` : ''}`))
    for (const itemId of run.waitingFor?.items ?? []) await this.noteItem(run, itemId)
  }

  private async noteItem(run: Run, itemId: string): Promise<void> {
    if (this.items.has(itemId)) return
    this.items.add(itemId)
    const item = await this.store.getItem(this.namespace, itemId)
    if (item) this.tell({ ...happening(run, 'item', item.title), itemId })
  }

  /** Runs are listed in the order of making, so the new ones are at the end. */
  private async newRuns(): Promise<Run[]> {
    const found: Run[] = []
    for (;;) {
      const page: Page<Run> = await this.store.listRuns({
        namespace: this.namespace,
        countMax: limits.pageSizeMax,
        ...(this.cursor === null ? {} : { cursor: this.cursor }),
      })
      found.push(...page.items.slice(this.known))
      this.known = page.items.length
      if (page.next === null) return found
      this.cursor = page.next
      this.known = 0
    }
  }
}

/** What has been said of a run: its state, and which wait it is. */
function told({ state, waitingFor }: Run): string {
  return `${state} ${waitingFor?.since ?? ''}`
}

function happening(run: Run, kind: Happening['kind'], text: string, at = run.updatedAt): Happening {
  return { at, kind, runId: run.runId, graph: `${run.graph}@${run.version}`, itemId: null, text }
}

function endOf(run: Run): string {
  if (run.errorJson === null) return run.outputJson ?? ''
  return (JSON.parse(run.errorJson) as { message?: string }).message ?? ''
}
