// Questions of one turn of the event loop are asked in one statement. Fifty runs that begin at once
// would else be fifty round trips, over as many sessions as the pool has, each of which compiles
// its functions first.
import type { Clock } from '../../clock.ts'

interface Asked<Q, A> {
  readonly question: Q
  readonly answer: (answer: A) => void
  readonly fail: (error: unknown) => void
}

export interface Gathering<Q, A> {
  readonly countMax: number
  /** How large each is, and how large all of one statement may be; one alone may be larger. */
  readonly weigh?: (question: Q) => number
  readonly weightMax?: number
  /** Answers in the order of the questions. */
  readonly send: (questions: readonly Q[]) => Promise<readonly A[]>
  /** Whether each may be asked alone after several together have failed so. */
  readonly mayRepeat: (error: unknown) => boolean
}

export class Gather<Q, A> {
  private readonly clock: Clock
  private readonly how: Gathering<Q, A>
  private asked: Asked<Q, A>[] = []

  constructor(clock: Clock, how: Gathering<Q, A>) {
    this.clock = clock
    this.how = how
  }

  ask(question: Q): Promise<A> {
    return new Promise((answer, fail) => {
      if (this.asked.length === 0) this.clock.turn(() => this.sendAll())
      this.asked.push({ question, answer, fail })
    })
  }

  private sendAll(): void {
    const { asked } = this
    const { countMax, weightMax = Number.POSITIVE_INFINITY, weigh = () => 0 } = this.how
    this.asked = []
    let group: Asked<Q, A>[] = []
    let weight = 0
    for (const one of asked) {
      const own = weigh(one.question)
      if (group.length === countMax || (group.length > 0 && weight + own > weightMax)) {
        void this.send(group)
        group = []
        weight = 0
      }
      group.push(one)
      weight += own
    }
    if (group.length > 0) void this.send(group)
  }

  private async send(asked: readonly Asked<Q, A>[]): Promise<void> {
    try {
      const answers = await this.how.send(asked.map(({ question }) => question))
      asked.forEach(({ answer }, i) => void answer(answers[i] as A))
    } catch (error) {
      // One of them may have caused it, or they were too much together.
      const repeats = asked.length > 1 && this.how.mayRepeat(error)
      if (repeats) for (const one of asked) void this.send([one])
      else for (const { fail } of asked) fail(error)
    }
  }
}
