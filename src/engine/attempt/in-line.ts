// A call on its way to a slot of its rate-limit class.
import type { IssuedCall } from '../call/call.ts'
import type { Visit } from '../visit/visit.ts'
import type { Slot } from './rate-limit.ts'

/** When its rate-limit class has room; a visit that parks meanwhile gives its slot back. */
export function inLine(visit: Visit, call: IssuedCall, go: (slot: Slot) => void): void {
  let waits = false
  const gone = visit.limits.when(call.tool, (slot) => {
    if (waits) visit.resting--
    if (visit.phase === 'running') go(slot)
    else slot.free()
    if (waits) visit.touch()
  })
  if (gone) return
  waits = true
  visit.resting++
}
