// Owns: the scopes that this process has open for guarded calls, shared by the calls that belong
// together, and closed when none is left.
// Invariants: a call with an id is made by one of those that ask for it at the same time. Calls
// that are counted share a scope until their task is over, and one that runs again counts anew.
import type { Call, Counterfoil, Scope } from '../../../index.ts'
import { isCounterfoilError } from '../../../model/errors.ts'
import { leaseMs } from '../../../model/limits.ts'
import type { Anchor } from '../line/anchor.ts'
import { pause } from '../line/heard.ts'
import { type Mark, markOf } from '../line/line.ts'
import { spacesOf } from '../saver/spaces.ts'
import type { Task } from './task.ts'

/** Another process may have died with the hold: its lease ends within this. */
const heldMsMax = leaseMs + 5_000
const retryMs = 20
const retryMaxMs = 1_000

export interface Made {
  readonly plain: unknown
  readonly replayed: boolean
}

export class Seat {
  readonly scope: Promise<Scope>
  readonly key: string
  readonly taskId: string | null
  readonly mark: Mark | undefined
  /** One execution of a task. */
  private readonly run: readonly unknown[]
  private readonly made = new Map<string, Promise<Made>>()
  private checked: Promise<void> | null = null
  users = 0
  isOver = false

  constructor(
    key: string,
    { taskId }: Anchor,
    { run, mark, scope }: Pick<Seat, 'mark' | 'scope'> & { run: readonly unknown[] },
  ) {
    this.key = key
    this.taskId = taskId
    this.run = run
    this.mark = mark
    this.scope = scope
  }

  isFor(mark: Mark, taskId: string): boolean {
    return this.taskId === taskId && this.mark === mark
  }

  /** Whether it was opened by the same execution of the task. */
  isOf(run: readonly unknown[]): boolean {
    return this.taskId === null || this.run.every((each, i) => each === run[i])
  }

  /** Once the scope is open, before its first call; of all that share it one makes the check. */
  begun(check: () => Promise<void>): Promise<void> {
    this.checked ??= this.scope.then(check)
    return this.checked
  }

  /** `name`: what makes it the same call; null if every call is one of its own. */
  call(name: string | null, make: (scope: Scope) => Call<unknown>): Promise<Made> {
    const earlier = name === null ? undefined : this.made.get(name)
    if (earlier) return earlier
    const made = this.scope.then(async (scope) => {
      const call = make(scope)
      const plain = await call
      return { plain, replayed: call.replayed === true }
    })
    made.catch(() => {})
    if (name !== null) this.made.set(name, made)
    return made
  }
}

export class Desk {
  private readonly cf: Counterfoil
  private readonly seats = new Map<string, Seat>()

  constructor(cf: Counterfoil) {
    this.cf = cf
    const spaces = spacesOf(cf)
    spaces.onOver = (mark, taskId) => {
      for (const seat of this.seats.values()) if (seat.isFor(mark, taskId)) this.end(seat)
    }
    // A person is asked about records of the task that it has not asked for.
    spaces.onEnding = async (mark, taskId) => {
      for (const seat of this.seats.values()) {
        if (seat.isFor(mark, taskId)) await (await seat.scope).over()
      }
    }
    // Whoever is told of it may come back at once, and find what was recorded.
    spaces.onStopping = async (mark, taskId) => {
      for (const seat of [...this.seats.values()]) {
        if (!seat.isFor(mark, taskId)) continue
        seat.isOver = true
        if (seat.users === 0) await this.close(seat)
      }
    }
  }

  join(task: Task, anchor: Anchor): Seat {
    const { threadId, scratchpad, attempt, config } = task
    const key = threadKey(threadId) + JSON.stringify([anchor.nodeId, anchor.checkpointId])
    // Below a subgraph without checkpoints LangGraph does not show which execution it is.
    const inner = anchor.taskId !== null && task.path.endsWith(anchor.taskId)
    const run = inner ? [scratchpad.resume, attempt] : [null, null]
    const open = this.seats.get(key)
    if (open && !open.isOver && open.isOf(run)) return this.sit(open)
    if (open) this.end(open)
    const { nodeId, checkpointId } = anchor
    const ids = { workflowId: threadId, nodeId, checkpointId }
    const at = anchor.levels.at(-1)
    const mark = at && markOf(config, at)
    const seat = new Seat(key, anchor, { run, mark, scope: this.open(ids) })
    this.seats.set(key, seat)
    seat.scope.catch(() => this.forget(seat))
    if (anchor.taskId !== null) {
      config.signal?.addEventListener('abort', () => this.end(seat), { once: true })
    }
    return this.sit(seat)
  }

  /** Whether this process makes calls of the thread. */
  isBusy(threadId: string): boolean {
    return [...this.seats.keys()].some((key) => key.startsWith(threadKey(threadId)))
  }

  async leave(seat: Seat): Promise<void> {
    seat.users--
    if (seat.users === 0 && (seat.isOver || seat.taskId === null)) await this.close(seat)
  }

  /** No later call may use it. */
  end(seat: Seat): void {
    seat.isOver = true
    this.forget(seat)
    if (seat.users === 0) this.close(seat).catch(() => {})
  }

  private sit(seat: Seat): Seat {
    seat.users++
    return seat
  }

  private forget(seat: Seat): void {
    if (this.seats.get(seat.key) === seat) this.seats.delete(seat.key)
  }

  private async close(seat: Seat): Promise<void> {
    this.forget(seat)
    const scope = await seat.scope.catch(() => null)
    await scope?.close()
  }

  private async open(ids: Parameters<Counterfoil['scope']>[0]): Promise<Scope> {
    const { clock } = this.cf.store
    const until = clock.mono() + heldMsMax
    for (let waitMs = retryMs; ; waitMs = Math.min(waitMs * 2, retryMaxMs)) {
      try {
        return await this.cf.scope(ids)
      } catch (error) {
        if (!isCounterfoilError(error, 'SCOPE_HELD') || clock.mono() > until) throw error
        await pause(this.cf, waitMs)
      }
    }
  }
}

const desks = new WeakMap<Counterfoil, Desk>()

export function deskOf(cf: Counterfoil): Desk {
  const desk = desks.get(cf) ?? new Desk(cf)
  desks.set(cf, desk)
  return desk
}

function threadKey(threadId: string): string {
  return `${JSON.stringify(threadId)} `
}
