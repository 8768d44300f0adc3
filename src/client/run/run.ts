// A handle on a run, in any process that can open the store.
import type { Clock } from '../../clock.ts'
import {
  type CounterfoilError,
  errorFor,
  type FailureData,
  RunFailedError,
} from '../../model/errors.ts'
import type { Graph } from '../../model/graph/graph.ts'
import { parseStored } from '../../model/json/stored.ts'
import * as limits from '../../model/limits.ts'
import type { RunDocument } from '../../model/run/document.ts'
import type { Run, RunRef, WaitingFor } from '../../model/run/records.ts'
import { isEnded, type RunState } from '../../model/run/states.ts'
import { rowsOf } from '../../store/pages.ts'
import type { Store } from '../../store/store.ts'
import { readDocument, readState } from './document.ts'
import { type PinRequest, pinCheckpoint } from './pin.ts'
import { type Preview, previewRun } from './preview.ts'
import { type FailedCall, failedCalls, type RetryRequest, retryRun } from './retry.ts'
import { type SentSignal, type SignalOptions, sendSignal } from './signal.ts'
import { askFor, type Stopping, type Wish } from './stop.ts'

export interface RunStatus {
  readonly runId: string
  readonly graph: string
  readonly version: string
  readonly state: RunState
  readonly node: string
  readonly visit: number
  readonly waitingFor: WaitingFor | null
  /** What is asked of the worker that holds the run, and not done yet. */
  readonly stopping: 'paused' | 'cancelled' | null
  readonly createdAt: number
  readonly updatedAt: number
}

export interface ClientContext {
  readonly store: Store
  readonly clock: Clock
  readonly namespace: string
  readonly graphs: ReadonlyMap<string, Graph>
  /** Looks whether workers of this machine are dead, so that what they held is free. */
  readonly checkWorkers: () => Promise<void>
}

export class RunHandle<Out = unknown> {
  readonly runId: string
  private readonly ref: RunRef
  private readonly client: ClientContext

  constructor(client: ClientContext, runId: string) {
    this.client = client
    this.ref = { namespace: client.namespace, runId }
    this.runId = runId
  }

  async status(): Promise<RunStatus> {
    return statusOf(await this.read())
  }

  /** The output, or a rejection; pending while the run waits for a person. */
  async result(): Promise<Out> {
    const run = await this.when((now) => isEnded(now.state))
    if (run.state === 'completed') {
      const json = await this.client.store.readOutput(run)
      return (json === null ? undefined : parseStored(json, `the output of ${this.runId}`)) as Out
    }
    if (run.state === 'cancelled') {
      throw errorFor('RUN_CANCELLED', this.runId)
    }
    const failure = parseStored(run.errorJson ?? '{}', `the error of ${this.runId}`)
    throw new RunFailedError(this.runId, (failure ?? {}) as FailureData)
  }

  /** Resolves with the status as soon as the run is in one of these states. */
  async until(...states: RunState[]): Promise<RunStatus> {
    const run = await this.when((now) => states.includes(now.state) || isEnded(now.state))
    if (states.includes(run.state)) return statusOf(run)
    throw errorFor('RUN_ENDED', run, `it will not be ${states.join(' or ')} by itself`)
  }

  /** Nothing new is begun; what is under way finishes and is recorded; then the run is paused. */
  pause(wish?: Wish): Promise<void> {
    return this.askFor('pause', wish)
  }

  /** Goes on after a pause, or takes back a pause that has not come about yet. */
  resume(wish?: Wish): Promise<void> {
    return this.askFor('resume', wish)
  }

  /** As a pause, for good. What is committed stays committed. */
  cancel(wish?: Wish): Promise<void> {
    return this.askFor('cancel', wish)
  }

  /** Sends a signal: `ctx.signal(name)` of the run takes it, now or when it comes to it. */
  signal(name: string, data?: unknown, options?: SignalOptions): Promise<SentSignal> {
    return sendSignal(this.client, this.ref, name, data, options)
  }

  /** The runs that this one has started, oldest first. */
  async children(): Promise<RunStatus[]> {
    const { store, namespace } = this.client
    const filter = { namespace, parentRunId: this.runId }
    const children: RunStatus[] = []
    for await (const run of rowsOf((page) => store.listRuns({ ...filter, ...page }))) {
      children.push(statusOf(run))
    }
    return children
  }

  /** Tries a failed run again from its last checkpoint, with the fate of its failed calls. */
  retry(request: RetryRequest): Promise<void> {
    const { store, clock } = this.client
    return retryRun(store, clock, this.ref, request)
  }

  /** The failed calls that a retry has to say something about. */
  failedCalls(): Promise<FailedCall[]> {
    return failedCalls(this.client.store, this.ref)
  }

  /** What would happen to each recorded call if the run's worker died now. */
  async preview(): Promise<Preview> {
    const { store, clock, graphs } = this.client
    const preview = await previewRun(store, clock, graphs, this.ref)
    if (preview) return preview
    throw notFound(this.runId)
  }

  /** The state at its present checkpoint, or at an earlier visit's. */
  async state(visit?: number): Promise<unknown> {
    return readState(this.client.store, await this.read(), visit)
  }

  /** Everything the model's context is rebuilt from (D7). */
  async document(): Promise<RunDocument> {
    return readDocument(this.client, await this.read())
  }

  /** Goes back to an earlier, good checkpoint; effects recorded since are kept, and answer. */
  pin(request: PinRequest): Promise<void> {
    const { store, clock } = this.client
    return pinCheckpoint(store, clock, this.ref, request)
  }

  private askFor(what: Stopping, wish: Wish | undefined): Promise<void> {
    return askFor(this.client, this.ref, what, wish)
  }

  private async read(): Promise<Run> {
    const run = await this.client.store.getRun(this.ref)
    if (run) return run
    throw notFound(this.runId)
  }

  /** Woken by writes of this process, and by a slow look for those of others. */
  private async when(is: (run: Run) => boolean): Promise<Run> {
    const { store, clock } = this.client
    for (;;) {
      const run = await this.read()
      if (is(run)) return run
      await new Promise<void>((resolve) => {
        const wake = () => {
          cancel()
          stop()
          resolve()
        }
        const cancel = clock.after(limits.pollMs, wake)
        const stop = store.onChange(wake)
      })
    }
  }
}

function notFound(runId: string): CounterfoilError {
  return errorFor('RUN_NOT_FOUND', runId)
}

function statusOf(run: Run): RunStatus {
  const { runId, graph, version, state, node, visit, waitingFor, createdAt, updatedAt } = run
  const stopping = run.stop?.to ?? null
  const where = { runId, graph, version, state, node, visit }
  return { ...where, waitingFor, stopping, createdAt, updatedAt }
}
