// A moment: relative for reading, absolute with its zone on demand.
import { now } from '../clock.ts'
import { absolute, duration, parseMs, relative } from '../words.ts'

export function Time({ at }: { at: string | null | undefined }) {
  if (at === null || at === undefined) return <span class="dim">–</span>
  const ms = parseMs(at)
  return (
    <time dateTime={at} title={absolute(ms)}>
      {relative(ms, now.value)}
    </time>
  )
}

/** How long something has lasted, still counting. */
export function Since({ at }: { at: string }) {
  const ms = parseMs(at)
  return (
    <time dateTime={at} title={`since ${absolute(ms)}`}>
      {duration(now.value - ms)}
    </time>
  )
}
