// A handle on a run, in any process that can open the store.
import type { Clock } from '../clock.ts'
import { CounterfoilError, RunFailedError } from '../model/errors.ts'
import * as limits from '../model/limits.ts'
import type { Run, RunRef, WaitingFor } from '../model/records.ts'
import { isEnded, type RunState } from '../model/run-state.ts'
import type { Store } from '../store/store.ts'

export interface RunStatus {
  readonly runId: string
  readonly graph: string
  readonly version: string
  readonly state: RunState
  readonly node: string
  readonly waitingFor: WaitingFor | null
  readonly createdAt: number
  readonly updatedAt: number
}

export class RunHandle<Out = unknown> {
  readonly runId: string
  private readonly ref: RunRef
  private readonly store: Store
  private readonly clock: Clock

  constructor(store: Store, clock: Clock, ref: RunRef) {
    this.store = store
    this.clock = clock
    this.ref = ref
    this.runId = ref.runId
  }

  async status(): Promise<RunStatus> {
    return statusOf(await this.read())
  }

  /** The output, or a rejection; pending while the run waits for a person. */
  async result(): Promise<Out> {
    const run = await this.when((now) => isEnded(now.state))
    if (run.state === 'completed') {
      return (run.outputJson === null ? undefined : JSON.parse(run.outputJson)) as Out
    }
    if (run.state === 'cancelled') {
      throw new CounterfoilError('RUN_CANCELLED', `run ${this.runId} was cancelled`)
    }
    throw new RunFailedError(this.runId, JSON.parse(run.errorJson ?? '{}'))
  }

  /** Resolves with the status as soon as the run is in one of these states. */
  async until(...states: RunState[]): Promise<RunStatus> {
    const run = await this.when((now) => states.includes(now.state) || isEnded(now.state))
    if (states.includes(run.state)) return statusOf(run)
    throw new CounterfoilError(
      'RUN_ENDED',
      `run ${this.runId} is ${run.state}; it will not be ${states.join(' or ')} by itself`,
    )
  }

  private async read(): Promise<Run> {
    const run = await this.store.getRun(this.ref)
    if (run) return run
    throw new CounterfoilError('RUN_NOT_FOUND', `there is no run ${this.runId}`)
  }

  /** Woken by writes of this process, and by a slow look for those of others. */
  private async when(is: (run: Run) => boolean): Promise<Run> {
    for (;;) {
      const run = await this.read()
      if (is(run)) return run
      await new Promise<void>((resolve) => {
        const wake = () => {
          cancel()
          stop()
          resolve()
        }
        const cancel = this.clock.after(limits.pollMs, wake)
        const stop = this.store.onChange(wake)
      })
    }
  }
}

function statusOf(run: Run): RunStatus {
  const { runId, graph, version, state, node, waitingFor, createdAt, updatedAt } = run
  return { runId, graph, version, state, node, waitingFor, createdAt, updatedAt }
}
