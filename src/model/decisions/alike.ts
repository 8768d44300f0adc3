// Which items one decision can be about: whoever has looked at one of them knows what the others
// ask. Their titles are rendered from data, so that each may have its own.
import { canonical, sha256 } from '../json/canonical.ts'
import type { Item } from '../run/records.ts'
import { choiceOf, outcomesOf, outcomesThat } from './outcomes.ts'

/** What a person would have to look at anew. The data of each are its own. */
function traits(graph: string, { kind, reason, queue, body }: Item): Record<string, unknown> {
  const { quorum = 1, schema = null } = body.approval ?? {}
  const tool = body.subject?.tool ?? null
  return { kind, reason, queue, graph, node: body.node, tool, schema, quorum }
}

/** The same for items that one decision can be about. */
export function likenessOf(graph: string, item: Item): string {
  return sha256(canonical(traits(graph, item))).slice(0, 16)
}

export interface Placed {
  readonly item: Item
  /** The name of its run's graph. */
  readonly graph: string
}

/** In what two items differ, in words; empty if they are alike. */
export function differences(a: Placed, b: Placed): string[] {
  const [one, two] = [traits(a.graph, a.item), traits(b.graph, b.item)]
  return Object.keys(one).filter((key) => canonical(one[key]) !== canonical(two[key]))
}

/** What can be said of many without looking into each. */
export const outcomesForMany = outcomesThat('many')

/** What is offered for many items that are alike, with its words. */
export function choicesForMany(item: Item) {
  const some = outcomesOf(item).filter((one) => outcomesForMany.includes(one))
  return some.map((outcome) => {
    const { label, grave } = choiceOf(item, outcome, null)
    return { outcome, label, grave }
  })
}
