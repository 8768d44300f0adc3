// Everything outside the agent: a model, a place to look things up, and a mail provider, in a
// process of its own. It writes down every e-mail, synced, before it answers. It also knows when
// the agent is to be killed: on the arrival of a request, after its effect and before its answer,
// or shortly after the answer.
import { fsyncSync, openSync, writeSync } from 'node:fs'
import { createServer } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'

/** @typedef {{ role: string, content: string }} Message */
/** @typedef {{ what: string, phase: 'arrival' | 'effect' | 'later', laterMs: number }} Kill */

const [, , log = '', thinking = ''] = process.argv
const fd = openSync(log, 'a')
const thinkingMs = Number(thinking)
const otherMs = 5

/** @type {{ task: string, kills: Kill[] }} */
let now = { task: '', kills: [] }
let answered = new Set()
/** Those whose answer was sent to an agent that was alive. */
let told = new Set()
/** `lost`: tokens of replies that were asked for again though an agent had been told the answer. */
let seen = { tokens: 0, lost: 0, requests: 0, newAt: 0 }

const tokensOf = (/** @type {unknown} */ value) => Math.ceil(JSON.stringify(value).length / 4)

/**
 * The same for the same conversation: looks up, writes, and says that it is done, once a turn.
 * @param {Message[]} messages
 */
function replyTo(messages) {
  const from = messages.findLastIndex(({ role }) => role === 'user')
  const results = messages.slice(from).filter(({ role }) => role === 'tool')
  const asked = messages[from]?.content ?? ''
  if (results.length === 0) return { tool: 'lookup', input: { about: asked } }
  if (results.length === 1) {
    return { tool: 'send_email', input: { to: asked, body: `Dear ${results[0]?.content}, …` } }
  }
  return { text: `${asked}: done.` }
}

/**
 * @param {string} path
 * @param {any} body
 */
async function answer(path, body) {
  await pause(path === '/model' ? thinkingMs : otherMs)
  if (path === '/model') {
    const reply = replyTo(body.messages)
    seen.tokens += tokensOf(body.messages) + tokensOf(reply)
    return reply
  }
  if (path === '/send') {
    writeSync(fd, `${JSON.stringify({ task: body.task, to: body.to })}\n`)
    fsyncSync(fd)
    return { messageId: `m-${body.task}-${body.to}` }
  }
  return { found: `the person of ${body.about}` }
}

/** @returns {Promise<void>} Ends when the agent is dead. */
function killAgent() {
  return new Promise((resolve) => {
    process.once('message', () => resolve())
    process.send?.({ event: 'kill' })
  })
}

/**
 * Which of the steps of a task it is.
 * @param {string} path
 * @param {any} body
 */
function nameOf(path, body) {
  if (path !== '/model') return `${path} ${body.about ?? body.to}`
  return `/model ${body.messages.length}`
}

const server = createServer(async (request, response) => {
  let text = ''
  for await (const chunk of request) text += chunk
  const path = request.url ?? ''
  const body = JSON.parse(text || '{}')
  if (path === '/task') {
    now = body
    answered = new Set()
    told = new Set()
    seen = { tokens: 0, lost: 0, requests: 0, newAt: 0 }
    response.end('{}')
  } else if (path === '/seen') {
    response.end(JSON.stringify({ ...seen, killsLeft: now.kills.length }))
    seen.newAt = 0
  } else await serve(path, body, response)
})

/**
 * @param {string} path
 * @param {any} body
 * @param {import('node:http').ServerResponse} response
 */
async function serve(path, body, response) {
  const what = nameOf(path, body)
  seen.requests++
  if (!answered.has(what) && seen.newAt === 0) {
    seen.newAt = performance.timeOrigin + performance.now()
  }
  const before = seen.tokens
  const kill = now.kills.find((each) => each.what === what)
  if (kill) now.kills.splice(now.kills.indexOf(kill), 1)
  if (kill?.phase === 'arrival') return killAgent()
  const reply = await answer(path, body)
  if (told.has(what)) seen.lost += seen.tokens - before
  if (kill?.phase === 'effect') return killAgent()
  answered.add(what)
  // Its agent may have died meanwhile: then nobody has heard it.
  if (!response.destroyed) told.add(what)
  response.end(JSON.stringify(reply))
  if (kill === undefined) return
  await pause(kill.laterMs)
  await killAgent()
}

server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  process.send?.({ event: 'listening', port: typeof address === 'object' ? address?.port : 0 })
})
process.once('disconnect', () => process.exit(0))
