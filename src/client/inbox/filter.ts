// What a program asks the inbox for: a word that means nothing would find nothing, and whoever
// reads the empty answer would think that nobody waits.
import { type CounterfoilError, errorFor } from '../../model/errors.ts'
import type { Item } from '../../model/run/records.ts'
import type { ItemFilter } from '../../store/store.ts'

export type InboxFilter = Omit<ItemFilter, 'namespace'>

const kinds: readonly unknown[] = ['approval', 'doubt', 'question'] satisfies Item['kind'][]
const states: readonly unknown[] = ['open', 'decided', 'closed'] satisfies Item['state'][]
const checks: Record<keyof InboxFilter, readonly unknown[] | 'string' | 'boolean' | 'number'> = {
  kind: kinds,
  state: states,
  runId: 'string',
  queue: 'string',
  overdue: 'boolean',
  newestFirst: 'boolean',
  cursor: 'string',
  countMax: 'number',
}

export function checkFilter(filter: InboxFilter): void {
  for (const [name, value] of Object.entries(filter)) {
    if (!Object.hasOwn(checks, name)) {
      const known = Object.keys(checks).join(', ')
      throw invalid(`there is no filter \`${name}\`; the filters are ${known}`)
    }
    const check = checks[name as keyof InboxFilter]
    if (value === undefined) continue
    const isWord = typeof check !== 'string'
    if (isWord ? check.includes(value) : typeof value === check) continue
    const wanted = isWord ? `one of ${check.join(', ')}` : `a ${check}`
    throw invalid(`\`${name}\` must be ${wanted}, not ${shown(value)}`)
  }
}

function shown(value: unknown): string {
  return typeof value === 'string' ? `"${value.slice(0, 100)}"` : `a ${typeof value}`
}

function invalid(why: string): CounterfoilError {
  return errorFor('REQUEST_INVALID', 'inbox.list()', why)
}
