// Drives one stage to its end: lives that follow each other, some of which are killed, and between
// them whatever the runs wait for.
import { type Clock, systemClock } from '../../../clock.ts'
import { CounterfoilError } from '../../../model/errors.ts'
import { isEnded } from '../../../model/run/states.ts'
import { blameText } from '../judge/blame.ts'
import { readEnd } from '../judge/end.ts'
import type { Driven } from '../judge/seen.ts'
import { countOf } from '../judge/totals.ts'
import type { Desk, End, Life, Stage } from '../types.ts'
import { Attendant, type Truth } from './desk.ts'
import { runsOf } from './idle.ts'

export interface DriveOptions {
  /** The boundary at which each life dies; 0 for those that do not. */
  readonly dieAts: readonly number[]
  readonly timeoutMs: number
  readonly truth: Truth
  readonly clock?: Clock
}

const livesMax = 200
const roundsMax = 100

/** A stage that does not come to its end. */
export class NoEnd extends Error {
  readonly lives: readonly Life[]
  readonly kind: 'endless' | 'crash'

  constructor(kind: NoEnd['kind'], message: string, lives: readonly Life[]) {
    super(message)
    this.kind = kind
    this.lives = lives
  }
}

/** What is in its way is put to the message: of a mock's bug nothing else tells. */
export async function drive(stage: Stage, options: DriveOptions): Promise<Driven> {
  try {
    return await driveOn(stage, options)
  } catch (error) {
    if (!(error instanceof NoEnd) || error.kind !== 'endless') throw error
    throw new NoEnd('endless', `${error.message}${blameText(stage.entries())}`, error.lives)
  }
}

async function driveOn(stage: Stage, options: DriveOptions): Promise<Driven> {
  const { dieAts, timeoutMs, truth, clock = systemClock } = options
  const before = await stage.totals()
  const attendant = new Attendant(stage, truth, before)
  const lives: Life[] = []
  const began = clock.mono()
  const passedOver: string[] = []
  let end: End | null = null
  let rounds = 0
  const check = () => {
    if (clock.mono() - began > timeoutMs || lives.length > livesMax) throw endless(timeoutMs, lives)
  }
  // What is still under way there may yet happen: nobody can say that it did not.
  const settled = async () => {
    const leftMs = timeoutMs - (clock.mono() - began)
    if (await within(clock, leftMs, stage.settled())) return
    throw new NoEnd('endless', lateText(timeoutMs), lives)
  }
  const rest = async (said: End | null): Promise<boolean> => {
    check()
    await settled()
    if (await attendant.attend()) {
      // Its host takes it at its word: nobody would call it again.
      if (said?.state === 'completed' && attendant.scoped.length > 0) {
        passedOver.push(...attendant.scoped)
        end = said
        return false
      }
      if (++rounds > roundsMax || attendant.isStuck) {
        throw new NoEnd('endless', asksForEver(attendant), lives)
      }
      return true
    }
    end = said ?? (await stage.look((desk) => endOf(desk, stage.runId)))
    if (end) return false
    if (stage.jumpsAlive) await waitOn(stage, lives)
    return stage.jumpsAlive
  }
  for (;;) {
    const life = await stage.live(dieAts[lives.length] ?? 0, rest)
    lives.push(life)
    if (life.fault) throw faultOf(life, lives)
    check()
    if (life.died !== null) {
      // It may have died on its way out, when all was done.
      end = null
      await settled()
      continue
    }
    if (end) {
      const totals = since(await stage.totals(), before)
      const { doubts, presumed } = attendant
      const entries = stage.entries()
      return { lives, end, entries, doubts, passedOver, totals, presumed: [...presumed] }
    }
    await waitOn(stage, lives)
  }
}

/** The run's end, once it and all that it started have ended. */
async function endOf({ store, namespace }: Desk, runId: string): Promise<End | null> {
  const runs = await runsOf(store, namespace)
  const run = runs.find((one) => one.runId === runId)
  if (run === undefined || runs.some(({ state }) => !isEnded(state))) return null
  return readEnd(store, run)
}

/** Nothing came and nothing is left to do: what is waited for is a time, or for ever. */
async function waitOn(stage: Stage, lives: readonly Life[]): Promise<void> {
  const runs = await stage.look(({ store, namespace }) => runsOf(store, namespace))
  const live = runs.filter(({ state }) => !isEnded(state))
  // A late answer has decided a doubt meanwhile: there is something to do again.
  if (live.some(({ state }) => state === 'pending')) return
  const times = live.flatMap(({ wakeAt }) => wakeAt ?? [])
  if (times.length > 0) return stage.jump(Math.min(...times))
  const what = live.map(({ runId, state, waitingFor }) => {
    const names = (waitingFor?.names ?? []).join(', ')
    return `${runId} is ${state}${waitingFor ? `, for ${waitingFor.kind} ${names}` : ''}`
  })
  const why = what.join('; ') || 'the agent has not ended, and waits for nothing'
  throw new NoEnd('endless', `it waits for something that never comes: ${why}`, lives)
}

function asksForEver({ doubts }: Attendant): string {
  const last = doubts.at(-1)?.title
  return `it asks for ever${last === undefined ? '' : ` (last: ${last})`}`
}

function endless(timeoutMs: number, lives: readonly Life[]): NoEnd {
  const count = lives.length === 1 ? '1 life' : `${lives.length} lives`
  return new NoEnd('endless', `${lateText(timeoutMs)} and ${count}`, lives)
}

function lateText(timeoutMs: number): string {
  return `it had not ended after ${timeoutMs / 1_000} s`
}

/** Whether it ended in time. */
async function within(clock: Clock, ms: number, work: Promise<void>): Promise<boolean> {
  let cancel = () => {}
  const late = new Promise<false>((resolve) => {
    cancel = clock.after(Math.max(1, ms), () => resolve(false))
  })
  return Promise.race([work.then(() => true), late]).finally(() => cancel())
}

function faultOf({ fault }: Life, lives: readonly Life[]): Error {
  const { code = '', message = '', ours = false } = fault ?? {}
  if (ours) return new CounterfoilError<string>(code, message)
  return new NoEnd(code === 'timeout' ? 'endless' : 'crash', message, lives)
}

function since(now: Driven['totals'], before: Driven['totals']): Driven['totals'] {
  if (now === null) return null
  return Object.fromEntries(
    Object.entries(now).map(([tool, n]) => [tool, n - (countOf(before, tool) ?? 0)]),
  )
}
