// What people outside are told: written with what it is about, so that nothing is told that is not
// so, and nothing that is so stays untold. The id is the same for the same thing: whoever writes it
// again says nothing new.
import type { Item, Look, Notice, Run } from '../run/records.ts'

export function noticeAbout(
  item: Item,
  kind: Notice['kind'],
  at: number,
  round: string,
  data: Record<string, unknown> = {},
): Notice {
  const { namespace, runId, itemId, title, queue, reason } = item
  const noticeId = `${itemId}/${kind}/${round}`
  const { url = null, say = null } = firstLook(item) ?? {}
  const look = url === null && say === null ? {} : { where_to_look: { url, say } }
  const dataJson = JSON.stringify({ title, queue, kind: item.kind, reason, ...look, ...data })
  return { namespace, runId, noticeId, kind, itemId, at, dataJson }
}

/** Of the call itself, or of the first record that it is to be compared with. */
function firstLook({ body: { look, unmatched } }: Item): Look | undefined {
  return look ?? unmatched.find((record) => record.look !== undefined)?.look
}

/** Of an item that waits from now on. */
export function noticeOfItem(item: Item, at: number): Notice {
  return noticeAbout(item, item.kind === 'doubt' ? 'doubt' : 'waiting_human', at, 'opened')
}

/** `end`: which of its ends, for a run that is tried again and fails again. */
export function noticeOfFailure(
  run: Pick<Run, 'namespace' | 'runId' | 'graph' | 'version'>,
  errorJson: string | null,
  at: number,
  end: string,
): Notice {
  const { namespace, runId, graph, version } = run
  const { code = null, message = '' } = JSON.parse(errorJson ?? '{}') as Record<string, unknown>
  const noticeId = `${runId}/run_failed/${end}`
  const error = { code, message: String(message).slice(0, messageLengthMax) }
  const dataJson = JSON.stringify({ graph: `${graph}@${version}`, error })
  return { namespace, runId, noticeId, kind: 'run_failed', itemId: null, at, dataJson }
}

const messageLengthMax = 1_000
