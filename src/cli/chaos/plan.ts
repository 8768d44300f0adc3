// What is to be tried, and how: all that chaos is told by whoever starts it.
import type { Clock } from '../../clock.ts'
import type { JudgeOptions } from './judge/judge.ts'
import type { ChaosReport } from './report/report.ts'
import type { ChaosEnd, End, Stage } from './types.ts'

export interface Plan extends JudgeOptions {
  /** What is run: `outreach@1.0.0`, or the file of an agent. */
  readonly subject: string
  readonly store: ChaosReport['store']
  readonly seed: number
  /** So many crash points; all of them with null. */
  readonly kills: number | null
  /** A second death while the first is recovered from. */
  readonly pairs: boolean
  readonly timeoutMs: number
  readonly concurrency: number
  /** The state in which the run is meant to end. */
  readonly ends: ChaosEnd
  /** `nth`: 0 for an uninterrupted run, else the crash point. */
  readonly open: (nth: number) => Promise<Stage>
  readonly notes: readonly string[]
  /** What the run came to whose answers are replayed; null without one. */
  readonly recordedEnd: End | null
  /** The names of the mocks that there are. */
  readonly mocks: readonly string[]
  /** Whose own function is run: names, `pure`, `all`. */
  readonly real: readonly string[]
  /** The names of the tools that graphs declare; steps and agents show theirs when they run. */
  readonly declared: readonly string[]
  /** Not a graph of ours: what calls its tools is somebody else's. */
  readonly isAgent: boolean
  readonly onProgress?: (text: string) => void
  readonly clock?: Clock
}
