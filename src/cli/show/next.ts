// What waits next, after somebody has decided something.
import { nextFor } from '../../client/inbox/next.ts'
import type { Decider } from '../../model/decisions/vote.ts'
import type { Item } from '../../model/run/records.ts'
import type { Counterfoil } from '../../open.ts'
import type { Cli } from '../cli.ts'
import { clean, wrap } from './text.ts'

type Decided = Pick<Item, 'namespace' | 'runId' | 'itemId'>

/** The item that they can decide next, and the lines that say so. */
export async function nextAfter(cli: Cli, cf: Counterfoil, decided: Decided, who: Decider) {
  const item = await nextFor(cf.store, decided, who)
  return { item, lines: linesOf(cli, item, who) }
}

function linesOf(cli: Cli, item: Item | null, who: Decider): string[] {
  if (item === null) return [`Nothing else waits for ${clean(who.by)}.`]
  const words = `Next: ${clean(item.title)} (run ${clean(item.runId)})`
  return [...wrap(words, cli.out.width), ...cli.again(2, 'inbox', 'show', item.itemId)]
}
