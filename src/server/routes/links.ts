// Links that decide, once. The page that a link opens does nothing by itself; its form does.
import { z } from 'zod'
import { Inbox, type ItemView } from '../../client/inbox/inbox.ts'
import { decisionJson } from '../../client/wire/rows.ts'
import { outcomesThat } from '../../model/decisions/outcomes.ts'
import { errorFor, isCounterfoilError } from '../../model/errors.ts'
import { roles } from '../auth/principal.ts'
import { parseJson, textOf } from '../http/json.ts'
import * as limits from '../http/limits.ts'
import { addStatus, statusFor } from '../http/problem.ts'
import { type Call, route } from '../http/route.ts'
import * as shapes from '../http/shapes.ts'
import { escapeHtml } from '../markdown.ts'
import { findLink, type Link, makeLink, useLink } from '../webhooks/link.ts'

addStatus(404, 'LINK_NOT_FOUND')
addStatus(410, 'LINK_USED')
addStatus(422, 'LINK_INVALID')

const tag = 'webhooks'
const params = z.object({ token: z.string().min(1).max(128) })
const ways = outcomesThat('link')
const dayMs = 24 * 3_600_000

const make = route({
  method: 'POST',
  path: '/v1/links',
  role: 'operator',
  tag,
  secret: true,
  summary: 'Makes a link that decides an approval, once. It is shown once, here.',
  bodyBytesMax: limits.smallBodyBytesMax,
  body: z.strictObject({
    item_id: shapes.id,
    version: z.int().min(1),
    outcomes: z
      .array(shapes.outcomesOf(ways))
      .min(1)
      .max(ways.length)
      .default([...ways]),
    by: z.string().trim().min(1).max(100).optional(),
    expires_in_ms: z
      .int()
      .min(1_000)
      .max(30 * dayMs)
      .default(3 * dayMs),
  }),
  answer: z.object({ url: z.string(), token: z.string() }),
  status: 201,
  handler: async ({ body, client, who, server }) => {
    const { item_id: itemId, version, outcomes, by = who.name } = body
    // A link acts as whoever it is for: only an admin makes one for somebody else.
    if (by !== who.name && roles.indexOf(who.role) < roles.indexOf('admin')) {
      throw errorFor('ROLE_FORBIDDEN', 'a link for somebody else needs the role admin')
    }
    const item = await new Inbox(client).get(itemId)
    const other = outcomes.find((outcome) => !item.outcomes.includes(outcome))
    if (other !== undefined) {
      throw errorFor('LINK_INVALID', itemId, other)
    }
    const claims = by === who.name ? who.claims : []
    const { store, namespace } = client
    const made = { madeBy: who.name, tokenId: who.id }
    const about = { namespace, itemId, version, outcomes, by, claims, ...made }
    const token = await makeLink(store, about, body.expires_in_ms)
    return { json: { token, url: `${server.publicUrl()}/v1/links/${token}` } }
  },
})

const look = route({
  method: 'GET',
  path: '/v1/links/:token',
  role: 'none',
  tag,
  type: 'text/html',
  summary: 'A page that asks you to confirm. Opening it decides nothing.',
  params,
  handler: (call) =>
    readably(call, async () => {
      const { store } = call.server
      const link = await findLink(store, call.params.token)
      if ((await store.getItem(link.namespace, link.itemId)) === null)
        throw errorFor('LINK_NOT_FOUND', 'the item of this link no longer exists')
      const inbox = new Inbox(call.server.clientOf(link.namespace))
      const item = await inbox.get(link.itemId, { by: link.by, claims: link.claims })
      // What would be refused is said before anybody writes a reason.
      if (item.barred !== null)
        return page(409, 'Nothing to decide here', `<p>${escapeHtml(item.barred)}</p>`)
      return page(200, 'Do you mean it?', confirmation(link, item))
    }),
})

const use = route({
  method: 'POST',
  path: '/v1/links/:token',
  role: 'none',
  tag,
  raw: true,
  secret: true,
  summary: 'Decides. The link then counts as used.',
  params,
  bodyBytesMax: limits.smallBodyBytesMax,
  handler: (call) =>
    readably(call, async () => {
      const { store } = call.server
      const link = await findLink(store, call.params.token)
      const { outcome, reason } = said(call, link)
      const inbox = new Inbox(call.server.clientOf(link.namespace))
      const decision = await useLink(store, link, (as) =>
        inbox.decide(link.itemId, { ...as, outcome, reason }),
      )
      if (!wantsPage(call)) return { json: { decision: decisionJson(decision) } }
      const done = decision.outcome === 'vote' ? `Your vote counts: ${outcome}` : `Done: ${outcome}`
      return page(200, done, '<p>You can close this page.</p>')
    }),
})

const form = z.strictObject({
  outcome: shapes.outcomesOf(ways).optional(),
  reason: z.string().trim().max(4_000).optional(),
})

function said({ request, bytes }: Call, link: Link) {
  const type = request.headers.get('content-type') ?? ''
  const text = textOf(bytes)
  const given = /^application\/json *(;|$)/i.test(type)
    ? parseJson(text === '' ? '{}' : text)
    : Object.fromEntries(new URLSearchParams(text))
  const parsed = form.safeParse(given)
  if (!parsed.success)
    throw errorFor('REQUEST_INVALID', 'body', '`outcome` and `reason` are required')
  const [only] = link.outcomes
  const outcome = parsed.data.outcome ?? (link.outcomes.length === 1 ? only : undefined)
  if (outcome === undefined || !link.outcomes.includes(outcome)) {
    throw errorFor('REQUEST_INVALID', 'outcome', `this link allows ${link.outcomes.join(' or ')}`)
  }
  return { outcome, reason: parsed.data.reason || `${outcome} by link` }
}

function wantsPage({ request }: Call): boolean {
  return (request.headers.get('accept') ?? '').includes('text/html')
}

/** Whoever follows a link in a mail is no program: they are told in words. */
async function readably<T>(call: Call, work: () => Promise<T>): Promise<T | Response> {
  try {
    return await work()
  } catch (error) {
    if (!wantsPage(call) || !isCounterfoilError(error) || statusFor(error) >= 500) throw error
    return page(statusFor(error), 'Nothing was decided', `<p>${escapeHtml(error.message)}</p>`)
  }
}

const shownMax = 20_000

function confirmation({ outcomes, by }: Link, { title, queue, body, choices }: ItemView): string {
  const why = body.approval?.why
  const offered = choices.filter(({ outcome }) => outcomes.includes(outcome))
  const buttons = offered.map(
    ({ outcome, label }) =>
      `<button name="outcome" value="${outcome}">${escapeHtml(label)}</button>`,
  )
  const follows = offered.map(
    ({ label, consequence }) => `<li>${escapeHtml(`${label}: ${consequence}`)}</li>`,
  )
  const shown = JSON.stringify(body.data, null, 2) ?? ''
  return [
    `<h2>${escapeHtml(title)}</h2><p>Queue: ${escapeHtml(queue)}</p>`,
    why ? `<p>Held because: ${escapeHtml(why)}</p>` : '',
    `<pre>${escapeHtml(shown.slice(0, shownMax))}</pre>`,
    shown.length > shownMax ? '<p>It goes on: look at all of it in the console.</p>' : '',
    `<ul>${follows.join('')}</ul>`,
    `<form method="post"><p><label>Why? <input name="reason" maxlength="4000"></label></p>`,
    `<p>As ${escapeHtml(by)}: ${buttons.join(' ')}</p></form>`,
  ].join('')
}

function page(status: number, title: string, html: string): Response {
  const head = `<meta charset="utf-8"><title>${escapeHtml(title)}</title>`
  const view = '<meta name="viewport" content="width=device-width, initial-scale=1">'
  const body = `<body><main><h1>${escapeHtml(title)}</h1>${html}</main></body>`
  const text = `<!doctype html><html lang="en"><head>${head}${view}</head>${body}</html>\n`
  return new Response(text, { status, headers: { 'content-type': 'text/html; charset=utf-8' } })
}

export const linkRoutes = [make, look, use]
