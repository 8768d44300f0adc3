// What the end of a task and a put ask of the line before they write: whether somebody else has the
// turn, and what would be left behind.
import {
  ERROR,
  INTERRUPT,
  type PendingWrite,
  WRITES_IDX_MAP,
} from '@langchain/langgraph-checkpoint'
import { lineGoesOn, taskGoesOn } from '../line/left.ts'
import type { Level, Mark } from '../line/line.ts'
import type { Finder } from '../line/origin.ts'
import { checkFree, free, type Stand, standAt } from '../line/stand.ts'
import { stepIdOf } from './config.ts'
import type { Put } from './line.ts'
import { spacesOf } from './spaces.ts'

/** LangGraph writes under it what no task has done. */
const nullTaskId = '00000000-0000-0000-0000-000000000000'

interface Ending {
  readonly mark: Mark
  readonly level: Level
  readonly taskId: string
  readonly writes: readonly PendingWrite[]
}

/** What a task has done is part of the thread, if nobody else has done something else there. */
export async function taskEnds(
  saver: Finder,
  { mark, level, taskId, writes }: Ending,
  put: (stand: Stand) => Promise<boolean>,
): Promise<void> {
  const spaces = spacesOf(saver.cf)
  const isEnd = taskId !== nullTaskId && writes.some(([channel]) => !(channel in WRITES_IDX_MAP))
  if (!isEnd) {
    const stops = writes.some(([channel]) => channel === INTERRUPT || channel === ERROR)
    if (stops) await spaces.onStopping(mark, taskId)
    await put(free)
    return mark.turn?.given()
  }
  await spaces.onEnding(mark, taskId)
  for (;;) {
    const stand = await standAt(saver, mark, level)
    try {
      const isOff = stand.aside || !(await taskGoesOn(saver, mark, level, taskId, stand.places))
      if (isOff) return spaces.over(mark, taskId)
      if (await put(stand)) return
    } finally {
      stand.end()
    }
  }
}

/** Where a checkpoint that is to be put stands. */
export async function standOf(saver: Finder, { space, config, mark, isOff }: Put): Promise<Stand> {
  const stepId = stepIdOf(config)
  if (stepId === null || isOff) return free
  const level = { ...space, stepId }
  if (mark) return standAt(saver, mark, level)
  if ((await saver.cf.threads.headOf(space)) === stepId) await checkFree(saver.cf, level)
  return free
}

/** People who fork or update a state go on from its calls; so does what then runs from there. */
export async function goesOn(saver: Finder, put: Put, stand: Stand): Promise<boolean> {
  const { space, config, metadata, mark } = put
  const repeats = metadata.source === 'fork' || metadata.source === 'update'
  if (stand.aside || mark === undefined || repeats) return !stand.aside
  const stepId = stepIdOf(config) ?? ''
  return !mark.late && lineGoesOn(saver, mark, { ...space, stepId }, stand.places)
}
