// Live events.
import { z } from 'zod'
import { eventJson } from '../../client/wire/rows.ts'
import type { InboxPort, LedgerPort } from '../../store/store.ts'
import * as limits from '../http/limits.ts'
import { route } from '../http/route.ts'
import * as shapes from '../http/shapes.ts'
import type { Look } from '../http/stream.ts'
import { runOf } from './run.ts'

const tag = 'streams'
const of = { method: 'GET', role: 'viewer', tag, type: 'text/event-stream' } as const
const behind = shapes.count(Number.MAX_SAFE_INTEGER)

const run = route({
  ...of,
  path: '/v1/runs/:run/stream',
  summary: 'The history of a run as it is written. `Last-Event-ID` continues after one.',
  params: z.object({ run: shapes.id }),
  query: z.strictObject({ after: behind.optional() }),
  handler: async (call) => {
    const found = await runOf(call)
    const { server, request, query, client } = call
    const said = behind.safeParse(request.headers.get('last-event-id') ?? undefined)
    let after = said.success ? said.data : (query.after ?? 0)
    const look: Look = async () => {
      const page = { after, countMax: limits.streamPageMax }
      const { items } = await client.store.listEvents(found, page)
      after = items.at(-1)?.id ?? after
      return items.map((row) => ({
        id: String(row.id),
        event: 'event',
        data: { id: row.id, ...eventJson(row) },
      }))
    }
    return server.streams.respond(server, request, look, limits.streamPollMs)
  },
})

const shown = 50

/** What a look at runs and at the inbox would see differently, as short texts. */
async function picture(store: LedgerPort & InboxPort, namespace: string) {
  const page = { namespace, newestFirst: true, countMax: shown }
  const [runs, open, decided] = await Promise.all([
    store.listRuns(page),
    store.listItems({ ...page, state: 'open' }),
    store.listItems({ ...page, state: 'decided' }),
  ])
  const items = [...open.items, ...decided.items]
  return {
    runs: JSON.stringify(runs.items.map((row) => [row.runId, row.state, row.updatedAt])),
    inbox: JSON.stringify(items.map((row) => [row.itemId, row.version, row.overdueAt])),
  }
}

const hints = route({
  ...of,
  path: '/v1/stream',
  summary: 'Hints that something has changed: `{ runs, inbox }`. After one, ask again.',
  handler: async ({ server, request, client: { store, namespace } }) => {
    let last: Awaited<ReturnType<typeof picture>> | null = null
    const look: Look = async () => {
      const now = await picture(store, namespace)
      const changed = { runs: last?.runs !== now.runs, inbox: last?.inbox !== now.inbox }
      const first = last === null
      last = now
      if (first) return [{ event: 'hello', data: { runs: true, inbox: true } }]
      return changed.runs || changed.inbox ? [{ event: 'changed', data: changed }] : []
    }
    return server.streams.respond(server, request, look, limits.hintPollMs)
  },
})

export const streamRoutes = [run, hints]
