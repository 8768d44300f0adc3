// What a tool says of a call while it works: the last word is kept beside the attempt, for whoever
// has to find out what became of it.
import * as limits from '../../model/limits.ts'
import type { Attempt } from '../../model/run/records.ts'
import type { Visit } from '../visit/visit.ts'

type Beat = Pick<Attempt, 'beatAt' | 'beatJson'>

/** Takes heartbeats in, as many as come, and writes one a second. `put` answers the row. */
export function heartbeats(visit: Visit, put: (beat: Beat) => Attempt): (json: string) => void {
  let writtenMs = Number.NEGATIVE_INFINITY
  return (beatJson) => {
    if (visit.log.lost) return
    const attempt = put({ beatAt: visit.clock.now(), beatJson })
    const nowMs = visit.clock.mono()
    if (nowMs - writtenMs < limits.beatMs) return
    writtenMs = nowMs
    visit.append({ attempts: [attempt] })
    visit.log.flushLater()
  }
}
