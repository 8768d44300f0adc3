// Boundaries: every call of a store that matters for recovery is a place to die, before it and
// after it, with a name that says what was about to be written. Tools have two of their own
// (wrap.ts).
import type { Changes, Commit, Store } from '../../../store/store.ts'

/** Comes back, or does not: whoever dies here never does. */
export type Hit = (boundary: string) => Promise<void> | undefined

// Renewals are left out: they come by the clock, and change nothing that has to be recovered.
const names = [
  'start',
  'load',
  'commit',
  'amend',
  'register',
  'declareDead',
  'stopWorker',
  'putStep',
  'putWrites',
]

/** Those methods of the store, with a boundary before and after each. */
export function withBoundaries(store: Store, hit: Hit): Partial<Store> {
  const claimed = store.claim.bind(store)
  const methods = store as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>
  const wrapped = names.flatMap((name) => {
    const original = methods[name]
    if (typeof original !== 'function') return []
    const through = async (...args: unknown[]) => {
      const what = name === 'commit' ? `commit${contentOf(args[0] as Commit[])}` : name
      await hit(`before ${what}`)
      const value = await original.apply(store, args)
      await hit(`after ${what}`)
      return value
    }
    return [[name, through]]
  })
  // A look for work that finds none is no boundary: workers look all the time.
  const claim: Store['claim'] = async (request) => {
    const runs = await claimed(request)
    if (runs.length > 0) await hit('after claim')
    return runs
  }
  return { ...Object.fromEntries(wrapped), claim }
}

function contentOf(batch: readonly Commit[]): string {
  const parts = new Set(batch.flatMap(({ changes }) => partsOf(changes)))
  return parts.size === 0 ? '' : ` (${[...parts].join(', ')})`
}

const words = { pending: 'intent', committed: 'receipt', failed: 'failure', in_doubt: 'doubt' }

function partsOf({ records = [], checkpoints = [], items = [], run }: Changes): string[] {
  return [
    ...records.map(({ status, tool }) => `${words[status]} of ${tool}`),
    ...checkpoints.map(({ node }) => `checkpoint at ${node}`),
    ...items.filter(({ state }) => state === 'open').map(({ kind }) => kind),
    ...(run?.state === undefined ? [] : [`run ${run.state}`]),
  ]
}
