// A signed request from outside: a decision, a signal, or the end of a deferred call. Its bytes
// are verified before anything is read. An id is taken once; what it does is idempotent besides,
// so that a request whose process died on the way can be sent again.
import { z } from 'zod'
import { Callbacks } from '../../client/callbacks.ts'
import { Inbox } from '../../client/inbox/inbox.ts'
import type { ClientContext } from '../../client/run/run.ts'
import { sendSignal } from '../../client/run/signal.ts'
import { decisionJson } from '../../client/wire/rows.ts'
import { type CounterfoilError, errorFor } from '../../model/errors.ts'
import type { DocumentsPort, Timed } from '../../store/store.ts'
import type { ServerContext } from '../context.ts'
import { parseJson, textOf } from '../http/json.ts'
import * as shapes from '../http/shapes.ts'
import { verify } from './signature.ts'
import { findSource, type Source } from './source.ts'

const decision = z.strictObject({
  type: z.literal('decision'),
  data: z.strictObject({
    item_id: shapes.id,
    version: z.int().min(1),
    outcome: z.enum(['approve', 'edit', 'reject', 'respond']),
    result: shapes.data.optional(),
    reason: shapes.reason,
    by: z.string().trim().min(1).max(100).optional(),
  }),
})
const signal = z.strictObject({
  type: z.literal('signal'),
  data: z.strictObject({ run_id: shapes.id, name: shapes.name, data: shapes.data.optional() }),
})
const token = z.string().min(1).max(199)
const callback = z.strictObject({
  type: z.literal('callback'),
  data: z.union([
    z.strictObject({ token, result: shapes.data }),
    z.strictObject({ token, error: z.string().min(1).max(4_000) }),
  ]),
})
export const incoming = z.discriminatedUnion('type', [decision, signal, callback])
type Incoming = z.infer<typeof incoming>

/** How long an id is known; a request that is older than the tolerance is refused anyway. */
const seenMs = 24 * 3_600_000
/** How long one that is under way may take before its sender may try again. */
const takenMs = 60_000

export async function receive(
  server: ServerContext,
  sourceId: string,
  headers: Headers,
  bytes: Uint8Array,
): Promise<unknown> {
  const { store, clock } = server
  const found = await findSource(store, sourceId)
  // A source that is not there answers as one whose secret is another.
  const id = verify(found?.secrets ?? [], headers, bytes, clock.now())
  if (found === null) throw unknown()
  const { source } = found
  const said = read(parseJson(textOf(bytes)))
  if (!source.acts.includes(said.type)) {
    throw errorFor('SOURCE_FORBIDDEN', source.name, said.type)
  }
  const client = server.clientOf(source.namespace)
  return once(store, source, id, () => obey(client, source, id, said))
}

function read(value: unknown): Incoming {
  const parsed = incoming.safeParse(value)
  if (parsed.success) return parsed.data
  const [first] = parsed.error.issues
  const what = `${first?.path.map(String).join('.') || 'it'}: ${first?.message}`
  throw errorFor('REQUEST_INVALID', 'body', what)
}

async function once(
  store: Timed<DocumentsPort>,
  source: Source,
  id: string,
  work: () => Promise<unknown>,
) {
  const row = { kind: 'hook_seen', namespace: source.namespace, id: `${source.id}/${id}` }
  const put = (ms: number, ifVersion: number | null) => {
    const expiresAt = store.clock.now() + ms
    return store.putDocument({ ...row, bodyJson: '{}', dueAt: null, expiresAt }, ifVersion)
  }
  if (!(await put(takenMs, null))) {
    throw errorFor('WEBHOOK_REPLAYED')
  }
  try {
    const answer = await work()
    await put(seenMs, 1)
    return answer
  } catch (error) {
    // Nothing was done: the same request may come again when what was wrong is mended.
    await store.deleteDocument(row.kind, row.namespace, row.id, 1)
    throw error
  }
}

async function obey(client: ClientContext, source: Source, id: string, said: Incoming) {
  if (said.type === 'signal') {
    const { run_id: runId, name, data } = said.data
    const ref = { namespace: client.namespace, runId }
    const sent = await sendSignal(client, ref, name, data, { id: `hook:${source.id}:${id}` })
    return { signal_id: sent.id, created: sent.created }
  }
  if (said.type === 'callback') {
    const callbacks = new Callbacks(client)
    return 'error' in said.data
      ? callbacks.fail(said.data.token, said.data.error)
      : callbacks.settle(said.data.token, said.data.result)
  }
  const { item_id: itemId, version, outcome, reason, result, by } = said.data
  // Who is behind a request is what its source says only where that was agreed on.
  const who = source.trustsBy && by !== undefined ? by : `hook:${source.name}`
  const made = await new Inbox(client).decide(itemId, {
    outcome,
    reason,
    version,
    by: who,
    claims: source.claims,
    ...(result === undefined ? {} : { result }),
    evidence: `webhook ${id} of ${source.name}${by === undefined ? '' : `, which names ${by}`}`,
  })
  return { decision: decisionJson(made) }
}

function unknown(): CounterfoilError {
  return errorFor('SIGNATURE_INVALID', 'it has no signature')
}
