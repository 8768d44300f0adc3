// The door of the chat route: odd bodies, requests that the app refuses, and requests that wait for
// another of the same chat.
import { HTTPException } from 'hono/http-exception'
import { describe, expect, test } from 'vitest'
import { chatRoute, guardAgent } from '../../../src/adapters/ai-sdk/index.ts'
import { chatOf, once, post, shop, text, wordsOf } from './chat.ts'
import { majors, opens, scripted } from './sdk.ts'

const message = (id: string, said: unknown) => ({
  id,
  role: 'user',
  parts: [{ type: 'text', text: said }],
})
const bodyOf = (...messages: unknown[]) => JSON.stringify({ id: 'chat-1', messages })

describe.each(majors)('$name', (major) => {
  const { sdk } = major
  const opensRoute = async (options: object = {}) => {
    const cf = await opens()
    const told: unknown[] = []
    const agent = guardAgent({ model: scripted(major, [[text('Hello.')]]) })
    const handler = chatRoute({
      ...{ cf, agent, onError: (error: unknown) => told.push(error), ...options },
      reply: async ({ model, messages }) =>
        sdk.streamText({ model, messages: await sdk.convertToModelMessages(messages) }),
    })
    const answer = async (body: string) => {
      const response = await handler(post(body))
      const { headers, status } = response
      const said = await response.text()
      const isProblem = headers.get('content-type') === 'application/problem+json'
      const problem = isProblem ? (JSON.parse(said) as Record<string, unknown>) : {}
      return { status, said, headers, problem }
    }
    return { cf, told, handler, answer }
  }

  test('K2 half of a character in a message of the user is a 400', async () => {
    const { answer, told } = await opensRoute()
    for (const said of ['"cut \\ud83d"', '"\\udc00 cut"', '{"\\ud83d":1}']) {
      const { status, problem } = await answer(bodyOf(message('u1', 0)).replace(':0', `:${said}`))
      expect([status, problem]).toMatchObject([400, { code: 'CHAT_REQUEST_INVALID' }])
      expect(problem['detail']).toContain('messages[0].parts')
    }
    const { status } = await answer(bodyOf(message('u\ud83d', 'x')))
    expect([status, told]).toEqual([400, []])
  })

  test('K2 half of a character that a tool has answered with ends no chat', async () => {
    const { answer } = await opensRoute()
    const part = { type: 'tool-x', toolCallId: 'c', state: 'output-available', input: { q: 1 } }
    const answered = { id: 'a1', role: 'assistant', parts: [{ ...part, output: '\ud83d' }] }
    const { status, said } = await answer(bodyOf(message('u1', 'x'), answered, message('u2', 'y')))
    expect([status, wordsOf(said)]).toEqual([200, 'done'])
  })

  test('K2 JSON nested 20,000 deep is a 400, wherever it is', async () => {
    const { answer, told } = await opensRoute()
    const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`
    for (const body of [
      deep,
      `{"a":${deep}}`,
      bodyOf(message('u1', 0)).replace(':0', `:${deep}`),
    ]) {
      const { status, problem } = await answer(body)
      expect([status, problem]).toMatchObject([400, { code: 'CHAT_REQUEST_INVALID', status: 400 }])
      expect(problem['detail']).toContain('nested deeper')
    }
    expect(told).toEqual([])
  })

  test('K2 a body that is too large is a 413, and the limit can be set', async () => {
    const { answer } = await opensRoute({ bodyBytesMax: 1_000 })
    const { status, problem } = await answer(bodyOf(message('u1', 'x'.repeat(1_000))))
    expect([status, problem]).toMatchObject([413, { code: 'BODY_TOO_LARGE' }])
    expect((await answer(bodyOf(message('u1', 'x')))).status).toBe(200)
    const large = await opensRoute()
    expect((await large.answer(bodyOf(message('u1', 'x'.repeat(2_000_000))))).status).toBe(200)
    expect((await large.answer(bodyOf(message('u1', 'x'.repeat(17_000_000))))).status).toBe(413)
  })

  test('K2 what the app throws to refuse a request is what the client gets', async () => {
    const refuses = async (thrown: unknown) => {
      const workflowId = () => {
        throw thrown
      }
      const { answer, told } = await opensRoute({ workflowId })
      return { ...(await answer(bodyOf(message('u1', 'x')))), told }
    }
    const plain = Object.assign(new Error('not your chat'), { status: 403 })
    expect(await refuses(plain)).toMatchObject({
      ...{ status: 403, told: [], problem: { code: 'HTTP_403', detail: 'not your chat' } },
    })
    const express = Object.assign(new Error('log in'), { statusCode: 401 })
    expect(await refuses(express)).toMatchObject({ status: 401, told: [] })
    const hono = new HTTPException(402, { message: 'pay first' })
    expect(await refuses(hono)).toMatchObject({ status: 402, said: 'pay first', told: [] })
    const own = new Response('gone', { status: 410, headers: { 'x-why': 'old' } })
    const gone = await refuses(own)
    expect([gone.status, gone.said, gone.headers.get('x-why')]).toEqual([410, 'gone', 'old'])
    const down = Object.assign(new Error('secret of the server'), { status: 503 })
    const failed = await refuses(down)
    expect([failed.status, failed.told]).toEqual([503, [down]])
    for (const other of [
      new Error('secret'),
      Object.assign(new Error('secret'), { status: 200 }),
    ]) {
      const { status, said, told } = await refuses(other)
      expect([status, said.includes('secret'), told.length]).toEqual([500, false, 1])
    }
  })

  /** An order that nobody lets go, and a request of the same chat that waits behind it. */
  const opensBusy = async (waitMs: number) => {
    const cf = await opens()
    let go = () => {}
    const gate = new Promise<void>((resolve) => {
      go = resolve
    })
    let begin = () => {}
    const begun = new Promise<void>((resolve) => {
      begin = resolve
    })
    const fate = () => {
      begin()
      return gate.then(() => ({ orderId: 'o-1' }))
    }
    const { route, sent, asked } = shop(major, { answer: once, fate, waitMs })
    const handler = route(cf)
    const chat = chatOf(major, handler)
    const first = chat.sendMessage({ text: 'Order tea.' })
    await begun
    return { cf, handler, route, chat, first, go, sent, asked }
  }

  test('K2 a request that waits too long for another is a 409', async () => {
    const { cf, route, handler, first, go, sent } = await opensBusy(30)
    for (const each of [handler, route(cf)]) {
      const response = await each(post(bodyOf(message('u9', 'And?'))))
      expect([response.status, response.headers.get('retry-after')]).toEqual([409, '1'])
      expect(await response.json()).toMatchObject({ code: 'SCOPE_HELD' })
    }
    go()
    await first
    const response = await handler(post(bodyOf(message('u9', 'And?'))))
    expect([response.status, sent.length]).toEqual([200, 1])
    await response.text()
  })

  test('K2 a client that goes away while it waits leaves the line', async () => {
    const { handler, first, go, sent, asked } = await opensBusy(60_000)
    const gone = new AbortController()
    const left = handler(post(bodyOf(message('u8', 'Hm.')), gone.signal))
    const stays = handler(post(bodyOf(message('u9', 'And?'))))
    gone.abort()
    expect((await left).status).toBe(409)
    go()
    await first
    await (await stays).text()
    // The message of whoever has gone reached neither the model nor the tool.
    expect([sent.length, asked()]).toEqual([2, 4])
  })
})
