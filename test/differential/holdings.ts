// Everything that a store holds of some runs, by its readers, in a form that can be compared.
import type { RunRef } from '../../src/model/run/records.ts'
import type { Store } from '../../src/store/store.ts'

export async function holdings(
  store: Store,
  refs: readonly RunRef[],
  prefix: string,
): Promise<unknown> {
  const namespaces = [...new Set(refs.map(({ namespace }) => namespace))]
  const [workers, backlog, overdue] = [
    await store.workers(),
    await store.backlog(),
    await store.listOverdue(100),
  ]
  const notices = await store.takeNotices('nobody', 1_000, 1)
  return {
    notices: sorted(notices.filter(({ namespace }) => namespaces.includes(namespace))),
    workers: workers.filter(({ workerId }) => workerId.startsWith(prefix)),
    backlog,
    overdue: sorted(overdue.filter(({ namespace }) => namespaces.includes(namespace))),
    namespaces: await Promise.all(namespaces.map((namespace) => namespaceOf(store, namespace))),
    runs: await Promise.all(refs.map((ref) => runOf(store, ref))),
  }
}

async function namespaceOf(store: Store, namespace: string): Promise<unknown> {
  return {
    runs: (await store.listRuns({ namespace, countMax: 500 })).items,
    items: (await store.listItems({ namespace, countMax: 500 })).items,
    versions: sorted(await store.listVersions(namespace)),
    recent: bags(await store.recent(namespace, 0)),
  }
}

async function runOf(store: Store, ref: RunRef): Promise<unknown> {
  const page = { countMax: 500 }
  return {
    loaded: await store.load(ref),
    second: await store.load(ref, { visit: 2 }),
    records: (await store.listRecords(ref, page)).items,
    attempts: await store.listAttempts(ref),
    evidence: await store.listEvidence(ref),
    decisions: await store.listDecisions(ref),
    checkpoints: await store.listCheckpoints(ref),
    chain: await store.loadCheckpoints(ref, 0, 2),
    events: (await store.listEvents(ref, page)).items.map(({ id: _, ...event }) => event),
    signals: [await store.getSignal(ref, 's0'), await store.getSignal(ref, 's1')],
    open: sorted(await store.openCalls(ref)),
    keyed: await store.keyInput(ref, 'send', 'k1'),
    token: await store.findAttempt(`t-${ref.namespace}-${ref.runId}-1-1-1`),
  }
}

/** Sums and single values come in no order. */
function bags(found: object): unknown {
  const entries = Object.entries(found).map(([key, value]) => [
    key,
    Array.isArray(value) ? sorted(value) : value,
  ])
  return Object.fromEntries(entries)
}

function sorted(rows: readonly unknown[]): unknown[] {
  const text = (row: unknown) => JSON.stringify(plain(row))
  return [...rows].sort((a, b) => (text(a) < text(b) ? -1 : 1))
}

/** What a lease is counted from is each store's own; whether it has ended is not. */
const own = ['leaseUntil']

/**
 * The end of a child is told at the writer's idea of the server's time, and its round trips for the
 * clock may meet a manual clock that moves.
 */
function isOwn(key: string, of: { externalId?: unknown; outcome?: unknown }): boolean {
  const isNews = of.outcome === 'landed' && String(of.externalId).startsWith('r0-')
  return own.includes(key) || (key === 'at' && isNews)
}

/** With keys in one order, and without what is undefined. */
export function plain(value: unknown): unknown {
  if (value instanceof Map) return plain([...value].sort())
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value)
    .filter(([key, each]) => each !== undefined && !isOwn(key, value))
    .sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(entries.map(([key, each]) => [key, plain(each)]))
}
