// A server with a chat route and the browsers of its users, in one process, against the upstream
// process. Several browsers have each chat open, approve what waits, and send at once.
// chat-agent.mjs <store> <upstream port> <package> <die at: name:n, or -> <browsers> <chats>
// Its model words things differently each time it is asked.
import { randomUUID } from 'node:crypto'
import { open } from 'counterfoil'
import { chatRoute, guardAgent } from 'counterfoil/ai-sdk'
import { addFailpoints } from 'counterfoil/testing'
import { z } from 'zod'
import { chargeClass, failpoint, sdkOf, sender } from './kit.mjs'

const [, , store = '', port = '0', major = 'ai', dieAt = '-', browsers = '2', chats = 'c1'] =
  process.argv
const hit = failpoint(dieAt)
const { sdk, Model } = await sdkOf(major)

function repliesTo(/** @type {string} */ to, /** @type {number} */ reply) {
  const call = (/** @type {string} */ toolName, /** @type {object} */ input) => ({
    ...{ type: 'tool-call', toolCallId: randomUUID(), toolName },
    input: JSON.stringify(input),
  })
  const mail = (/** @type {string} */ subject) => call('mail', { to, subject, note: randomUUID() })
  if (reply === 0) return [mail('hello'), call('charge', { to, n: 1 })]
  if (reply === 1) return [mail('bye')]
  const id = 't'
  return [
    { type: 'text-start', id },
    { type: 'text-delta', id, delta: 'All done.' },
    { type: 'text-end', id },
  ]
}

const model = new Model({
  doStream: async (/** @type {any} */ { prompt }) => {
    const to = prompt.find((/** @type {any} */ { role }) => role === 'user').content[0].text
    const reply = prompt.filter((/** @type {any} */ { role }) => role === 'assistant').length
    hit('before model')
    await new Promise((resolve) => setImmediate(resolve))
    hit('after model')
    const parts = repliesTo(to, reply)
    const unified = reply < 2 ? 'tool-calls' : 'stop'
    const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } }
    const end = { type: 'finish', finishReason: { unified, raw: unified }, usage }
    return { stream: ReadableStream.from([{ type: 'stream-start', warnings: [] }, ...parts, end]) }
  },
})

const send = sender(port, hit)

const agent = guardAgent({
  model,
  tools: {
    mail: sdk.tool({
      inputSchema: z.object({ to: z.string(), subject: z.string(), note: z.string() }),
      needsApproval: true,
      execute: (input, options) => send('mail', input, options),
    }),
    charge: sdk.tool({
      inputSchema: z.object({ to: z.string(), n: z.number() }),
      execute: (input, options) => send('charge', input, options),
    }),
  },
  classes: {
    mail: { replayClass: 'unsafe_on_replay' },
    charge: chargeClass,
  },
})

const cf = await open({ store, settleMs: 60 })
addFailpoints(cf.store, hit)
/** @type {unknown[]} */
const wrong = []
const handler = chatRoute({
  cf,
  agent,
  onError: (error) => wrong.push(error),
  reply: async ({ model, tools, messages, signal }) =>
    sdk.streamText({
      ...{ model, tools, abortSignal: signal, maxRetries: 0, onError: () => {} },
      messages: await sdk.convertToModelMessages(messages),
      stopWhen: sdk.stepCountIs(10),
    }),
})

/**
 * As a page that was opened anew: of the chat it has the message of the user.
 * @extends {sdk.AbstractChat<any>}
 */
class Browser extends sdk.AbstractChat {
  constructor(/** @type {string} */ id) {
    /** @type {any} */
    const state = {
      status: 'ready',
      messages: [{ id: 'u1', role: 'user', parts: [{ type: 'text', text: id }] }],
      pushMessage: (/** @type {any} */ message) => state.messages.push(message),
      popMessage: () => state.messages.pop(),
      replaceMessage: (/** @type {number} */ index, /** @type {any} */ message) => {
        state.messages[index] = { ...message }
      },
      snapshot: structuredClone,
    }
    const fetch = (/** @type {any} */ url, /** @type {any} */ init) =>
      handler(new Request(new URL(url, 'http://localhost'), init))
    super({ id, state, transport: new sdk.DefaultChatTransport({ api: '/chat', fetch }) })
  }

  /** @returns {any[]} */
  get parts() {
    return this.messages.flatMap(({ parts }) => parts)
  }
}

/** Sends, approves what waits, and sends again, until there is an answer or a doubt. */
async function use(/** @type {string} */ id) {
  const browser = new Browser(id)
  for (let round = 0; round < 8; round++) {
    await browser.sendMessage()
    if (browser.status === 'error') return `error: ${browser.error?.message}`
    const { parts } = browser
    if (parts.some(({ type }) => type === 'data-counterfoil-doubt')) return 'waiting'
    if (parts.some(({ type, text }) => type === 'text' && text === 'All done.')) return 'done'
    const asked = parts.filter(({ state }) => state === 'approval-requested')
    for (const { approval } of asked) {
      await browser.addToolApprovalResponse({ id: approval.id, approved: true })
    }
  }
  return 'stuck'
}

const clicks = chats.split(',').map(async (chat) => {
  const states = await Promise.all(Array.from({ length: Number(browsers) }, () => use(chat)))
  return states.find((state) => state !== 'done') ?? 'done'
})
const states = await Promise.all(clicks)
await cf.close()
process.stdout.write(JSON.stringify({ states, wrong: wrong.map(String) }))
