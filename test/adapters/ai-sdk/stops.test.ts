// A user who presses stop, at every point of the stream, and goes on with a new message while what
// was begun is still under way: whatever the client has seen of it, an order goes out once.
import { describe, expect, test } from 'vitest'
import { type Chat, chatOf, lastText, once, partsOf, shop, text } from './chat.ts'
import { file, type Major, majors, opens } from './sdk.ts'

type Handler = (request: Request) => Promise<Response>

/** The first response is stopped by its reader after so many parts, as by the stop button. */
function stopsAfter(count: number, handler: Handler, stop: () => Promise<void>): Handler {
  let first = true
  return async (request) => {
    const response = await handler(request)
    if (!first) return response
    first = false
    if (count === 0) void stop()
    let seen = 0
    const counts = new TransformStream<Uint8Array, Uint8Array>({
      transform: (chunk, controller) => {
        controller.enqueue(chunk)
        if (++seen === count) void stop()
      },
    })
    return new Response(response.body?.pipeThrough(counts), response)
  }
}

/** An order that is under way until it is let go, and the moment when it was begun. */
function underWay() {
  let go = () => {}
  const gate = new Promise<void>((resolve) => {
    go = resolve
  })
  const fate = (sent: number) => gate.then(() => ({ orderId: `o-${sent}` }))
  return { go, fate }
}

/** All that can happen without anything new from outside has happened. */
async function turns(): Promise<void> {
  for (let n = 0; n < 50; n++) await new Promise((resolve) => setImmediate(resolve))
}

/** Orders tea, unless it was told that it has, or that it must not. */
const sensible = (reply: number, n: number, prompt: string) =>
  prompt.includes('orderId') || prompt.includes('must not be made again')
    ? [text(`It is ordered, ${n}.`)]
    : once(reply, n)

interface Stopped {
  readonly major: Major
  /** After so many parts; null for the moment when the order is out. */
  readonly points: number | null
  readonly handlers: (route: ReturnType<typeof shop>['route']) => Promise<[Handler, Handler]>
  readonly answer?: typeof sensible
}

/** Stops after `points` parts, sends another message at once, and only then is the order done. */
async function stopAndGoOn({ major, points, handlers, answer = sensible }: Stopped) {
  const { go, fate } = underWay()
  const isOut = (n: number) => {
    if (points === null) void stop()
    return fate(n)
  }
  const { route, sent } = shop(major, { answer, fate: isOut })
  const [first, second] = await handlers(route)
  let chat: Chat | null = null
  let stopped = false
  const stop = async () => {
    stopped = true
    await chat?.stop()
  }
  const stops = stopsAfter(points ?? -1, first, stop)
  let requests = 0
  chat = chatOf(major, (request) => (requests++ === 0 ? stops(request) : second(request)))
  const asked = chat.sendMessage({ text: 'Order tea.' })
  await turns()
  // The stop comes behind the result of the order.
  if (!stopped) go()
  await asked
  const next = chat.sendMessage({ text: 'And?' })
  await turns()
  go()
  await next
  return { chat, sent }
}

describe.each(majors)('$name', (major) => {
  const inOneProcess = async (
    route: ReturnType<typeof shop>['route'],
  ): Promise<[Handler, Handler]> => {
    const cf = await opens()
    return [route(cf), route(cf)]
  }

  test('C2 stop at any point, then a message while the order is under way: one order', async () => {
    for (let points = 0; points < 9; points++) {
      const { chat, sent } = await stopAndGoOn({ major, points, handlers: inOneProcess })
      expect([points, sent.length, chat.status]).toEqual([points, 1, 'ready'])
      expect(lastText(chat)).toMatch(/^(It is ordered|Done), \d\.$/)
    }
  })

  test('C2 the same in two processes', async () => {
    for (const points of [1, 3]) {
      const store = `sqlite:${file()}`
      const handlers = async (
        route: ReturnType<typeof shop>['route'],
      ): Promise<[Handler, Handler]> => [
        route(await opens({ store })),
        route(await opens({ store })),
      ]
      const { chat, sent } = await stopAndGoOn({ major, points, handlers })
      expect([points, sent.length, chat.status]).toEqual([points, 1, 'ready'])
    }
  })

  test('C2 ordered again, and its user has not seen the first: a person sees both', async () => {
    const { chat, sent } = await stopAndGoOn({
      major,
      points: null,
      handlers: inOneProcess,
      answer: once,
    })
    expect(sent).toHaveLength(1)
    expect(partsOf(chat, 'data-counterfoil-doubt')).toMatchObject([
      { data: { tool: 'order', reason: 'same_effect' } },
    ])
    // The same request again: neither what the client was told since, nor an answer that it has
    // got from elsewhere, decides for the person.
    await chat.sendMessage()
    expect(sent).toHaveLength(1)
    chat.messages = chat.messages.map((message) => ({
      ...message,
      parts: message.parts.map((part) =>
        part.toolCallId === 'id-0' ? { ...part, state: 'output-available', output: 'o-1' } : part,
      ),
    }))
    await chat.sendMessage()
    expect(sent).toHaveLength(1)
    expect(lastText(chat)).toBe('')
  })
})
