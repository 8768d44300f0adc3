// What a receiver is told: what it is about, and where to look. Data of the run stay here; whoever
// follows the link has to say who they are.
import type { Notice, NoticeKind } from '../../model/run/records.ts'
import type { Format } from './subscription.ts'

export interface Links {
  readonly approve: string
  readonly reject: string
}

interface About {
  readonly title?: string
  readonly queue?: string
  readonly kind?: string
  readonly reason?: string | null
  readonly due_at?: number
  readonly escalated_from?: string
  readonly graph?: string
  readonly error?: { code: string | null; message: string }
  readonly where_to_look?: { readonly url: string | null; readonly say: string | null }
}

export function payloadOf(
  notice: Notice,
  format: Format,
  publicUrl: string,
  links: Links | null,
): string {
  const about = JSON.parse(notice.dataJson) as About
  const url = urlOf(notice, publicUrl)
  if (format === 'slack') return JSON.stringify(slackOf(notice, about, url, links))
  const { namespace, runId, itemId, at } = notice
  const { due_at: dueAt, ...rest } = about
  const due = dueAt === undefined ? {} : { due_at: new Date(dueAt).toISOString() }
  const data = { namespace, run_id: runId, item_id: itemId, ...rest, ...due, url }
  return JSON.stringify({
    type: `counterfoil.${notice.kind}`,
    timestamp: new Date(at).toISOString(),
    data: links ? { ...data, links } : data,
  })
}

/** Where the console shows it. */
function urlOf({ namespace, runId, itemId }: Notice, publicUrl: string): string {
  const path = itemId === null ? `/runs/${encodeURIComponent(runId)}` : `/inbox/${itemId}`
  const query = namespace === 'default' ? '' : `?namespace=${encodeURIComponent(namespace)}`
  return `${publicUrl}${path}${query}`
}

const heads: Record<NoticeKind, string> = {
  waiting_human: 'Waits for a person',
  doubt: 'Did it happen?',
  sla_passed: 'Overdue',
  run_failed: 'Run failed',
}

function slackOf(notice: Notice, about: About, url: string, links: Links | null) {
  const what = about.title ?? about.error?.message ?? notice.runId
  const head = `${heads[notice.kind]}: ${short(what)}`
  const details = [`run ${notice.runId}`, about.queue && `queue ${about.queue}`, about.graph]
  const button = (text: string, to: string) => ({
    type: 'button',
    text: { type: 'plain_text', text },
    url: to,
  })
  const { url: where, say } = about.where_to_look ?? {}
  const look = where ? [button('Where it would be', where)] : []
  const more = links ? [button('Approve …', links.approve), button('Reject …', links.reject)] : []
  return {
    // Shown where blocks are not: notifications, screen readers.
    text: mrkdwn(head),
    blocks: [
      { type: 'section', text: { type: 'mrkdwn', text: `*${mrkdwn(head)}*` } },
      ...(say ? [{ type: 'section', text: { type: 'plain_text', text: short(say) } }] : []),
      {
        type: 'context',
        elements: [{ type: 'plain_text', text: short(details.filter(Boolean).join(' · ')) }],
      },
      { type: 'actions', elements: [button('Look at it', url), ...look, ...more] },
    ],
  }
}

/** What a model wrote must not become a mention or a link. */
function mrkdwn(text: string): string {
  const named = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
  return named.replaceAll(/[*_~`]/g, (mark) => `\u200b${mark}`)
}

const shortMax = 300

function short(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ')
  return line.length > shortMax ? `${line.slice(0, shortMax - 1)}…` : line
}
