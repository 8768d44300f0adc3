// What must be true of every life, whatever its crashes: no unsafe effect twice, none lost, no
// result to the wrong call, no false drift, and an end within a bounded number of decisions.
import type { Life } from './life.ts'
import type { Kind } from './program.ts'

export function judge(life: Life, kind: Kind): string[] {
  const found = [...life.notes]
  for (const id of life.world.sentTwice) found.push(`ATTEMPT DISPATCHED TWICE: ${id}`)
  // Raw timers are outside the order: a race against one may ask a person.
  const steady = kind === 'plain' || kind === 'waits'
  if (steady && life.drifts > 0) found.push(`FALSE DRIFT: ${life.drifts}`)
  if (!life.ended) return found.length > 0 ? found : ['DID NOT END']
  const sent = countBy(life.world.landings, (landing) => `${landing.tool}|${landing.input}`)
  const asked = countBy(
    [...life.issued.values()].filter((i) => i.node.callClass !== 'pure' && !i.node.fails),
    (i) => `${i.node.tool}|${i.input}`,
  )
  const surplus = (key: string) => (sent.get(key) ?? 0) > (asked.get(key) ?? 0)
  for (const { site, tool, input, unsafe } of life.world.landings) {
    const mine = life.world.landings.filter((other) => other.site === site)
    // Identical calls of two sites may trade records: then the sum over both is right.
    const twice = mine.length > 1 && mine.some((each) => surplus(`${each.tool}|${each.input}`))
    if (twice) found.push(`${unsafe ? 'UNSAFE' : 'KEYED'} EFFECT TWICE: ${site} ${input}`)
    if (steady && !asked.has(`${tool}|${input}`)) found.push(`ORPHAN EFFECT: ${site} ${input}`)
  }
  for (const { node, input } of life.issued.values()) {
    if (node.callClass === 'pure' || node.fails) continue
    const key = `${node.tool}|${input}`
    const bySite = life.world.landings.some((landing) => landing.site === node.site)
    const lost = !bySite && (sent.get(key) ?? 0) < (asked.get(key) ?? 0)
    if (lost) found.push(`LOST EFFECT: ${node.site} ${input}`)
  }
  return [...new Set(found)]
}

function countBy<T>(of: readonly T[], key: (each: T) => string): Map<string, number> {
  const counts = new Map<string, number>()
  for (const each of of) counts.set(key(each), (counts.get(key(each)) ?? 0) + 1)
  return counts
}
