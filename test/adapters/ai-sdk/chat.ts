// A chat as a browser has it: the AI SDK's own client, over a chat route of ours; and models that
// word things differently each time they are asked.
import { expect } from 'vitest'
import { z } from 'zod'
import { chatRoute, guardAgent } from '../../../src/adapters/ai-sdk/index.ts'
import type { Part } from '../../../src/adapters/ai-sdk/reply.ts'
import type { Counterfoil, DecideRequest, OpenOptions } from '../../../src/index.ts'
import { call, type Major, onlyItem, opens, partsFor, streamOf, text } from './sdk.ts'

export interface UiPart {
  type: string
  state?: string
  toolCallId?: string
  text?: string
  errorText?: string
  approval?: { id: string }
  data?: Record<string, unknown>
}
export interface UiMessage {
  id: string
  role: string
  parts: UiPart[]
}

/** What is used of the SDK's client. */
export interface Chat {
  messages: UiMessage[]
  status: string
  sendMessage(message?: { text: string; messageId?: string }): Promise<void>
  regenerate(): Promise<void>
  stop(): Promise<void>
  addToolApprovalResponse(said: { id: string; approved: boolean; reason?: string }): Promise<void>
}

type Handler = (request: Request) => Promise<Response>

export function chatOf({ sdk }: Major, handler: Handler, id = 'chat-1'): Chat {
  const bodies: string[] = []
  const state = {
    status: 'ready',
    error: undefined,
    messages: [] as UiMessage[],
    pushMessage(message: UiMessage) {
      state.messages = [...state.messages, message]
    },
    popMessage() {
      state.messages = state.messages.slice(0, -1)
    },
    replaceMessage(index: number, message: UiMessage) {
      state.messages = state.messages.map((old, n) => (n === index ? { ...message } : old))
    },
    snapshot: <T>(thing: T): T => structuredClone(thing),
  }
  const fetch = async (url: unknown, init: RequestInit) => {
    bodies.push(String(init.body))
    return handler(new Request(new URL(String(url), 'http://localhost'), init))
  }
  const transport = new sdk.DefaultChatTransport({ api: '/api/chat', fetch: fetch as never })
  class Client extends sdk.AbstractChat<never> {}
  return Object.assign(new Client({ id, transport, state: state as never }), {
    bodies,
  }) as unknown as Chat & { bodies: string[] }
}

/** Sends the n-th request of a chat once more, past its client: a retry, a second tab. */
export async function again(handler: Handler, chat: Chat, n = -1): Promise<string> {
  const { bodies } = chat as unknown as { bodies: string[] }
  const response = await handler(post(bodies.at(n)))
  return response.text()
}

export function post(body: string | undefined, signal?: AbortSignal): Request {
  const init = { method: 'POST', ...(body === undefined ? {} : { body }) }
  return new Request('http://localhost/api/chat', signal ? { ...init, signal } : init)
}

/** The words of a stream of server-sent events. */
export function wordsOf(sse: string): string {
  return sse
    .split('\n\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice(6)) as { type: string; delta?: string })
    .filter(({ type }) => type === 'text-delta')
    .map(({ delta }) => delta)
    .join('')
}

export type Answer = (reply: number, asked: number, prompt: string) => readonly Part[]

/** A model that is told the number of the reply in its turn, and how often it was asked at all. */
export function wording({ Model }: Major, answer: Answer) {
  let asked = 0
  const model = new Model({
    doStream: async ({ prompt }: { prompt: readonly { role: string }[] }) => {
      const turn = prompt.slice(prompt.findLastIndex(({ role }) => role === 'user') + 1)
      const reply = turn.filter(({ role }) => role === 'assistant').length
      return { stream: streamOf(partsFor(answer(reply, asked++, JSON.stringify(prompt)))) } as never
    },
  })
  return { model, asked: () => asked }
}

export function order(id: string, item: string, note: string): Part {
  return call(id, 'order', { item, note })
}

interface Shop {
  answer: Answer
  /** What becomes of an order once it is out. */
  fate?: (sent: number) => unknown
  needsApproval?: boolean | ((input: { item: string }) => boolean)
  waitMs?: number
  /** What `reply` returns, if it is not what streamText gives. */
  ui?: (streams: { toUIMessageStream(options?: object): unknown }, messages: never[]) => unknown
  /** Of the prompt, different each time. */
  system?: () => string
}

/** A shop whose assistant orders things, for any number of processes. */
export function shop(major: Major, { answer, ...how }: Shop) {
  const { model, asked } = wording(major, answer)
  return { asked, ...shopOf(major, model, how) }
}

export function shopOf(
  major: Major,
  model: InstanceType<Major['Model']>,
  { fate, needsApproval = false, waitMs, ui, system }: Omit<Shop, 'answer'>,
) {
  const { sdk } = major
  const sent: string[] = []
  const agent = guardAgent({
    model,
    tools: {
      order: sdk.tool({
        inputSchema: z.object({ item: z.string(), note: z.string() }),
        needsApproval,
        execute: async ({ item, note }) => {
          sent.push(`${item}: ${note}`)
          const told = fate?.(sent.length)
          return told ?? { orderId: `o-${sent.length}` }
        },
      }),
    },
    classes: {
      order: {
        ...{ replayClass: 'unsafe_on_replay', quietMs: 1 },
        whereToLook: ({ item }: { item: string }) => ({ say: `Look for ${item} in the shop.` }),
      },
    },
  })
  const route = (cf: Counterfoil): Handler =>
    chatRoute({
      ...{ cf, agent, ...(waitMs === undefined ? {} : { waitMs }) },
      link: (itemId) => `/inbox/${itemId}`,
      reply: async ({ model, tools, messages, signal }) => {
        const streams = sdk.streamText({
          ...{ model, tools, abortSignal: signal, maxRetries: 0, onError: () => {} },
          ...(system ? { system: system() } : {}),
          messages: await sdk.convertToModelMessages(messages),
          stopWhen: sdk.stepCountIs(5),
        })
        return (ui ? ui(streams as never, messages) : streams) as typeof streams
      },
    })
  return { sent, route }
}

/** One shop with one chat, and somebody who decides what waits. */
export async function openShop(
  major: Major,
  options: Shop,
  cfs: Partial<OpenOptions> | Counterfoil = {},
) {
  const cf = 'inbox' in cfs ? cfs : await opens(cfs)
  const made = shop(major, options)
  const handler = made.route(cf)
  const decide = async (said: Partial<DecideRequest> & Pick<DecideRequest, 'outcome'>) => {
    const { itemId, version } = await onlyItem(cf)
    const by = { by: 'ana', reason: 'looked', madeSure: true }
    await cf.inbox.decide(itemId, { ...by, version, ...said })
  }
  return { cf, ...made, handler, chat: chatOf(major, handler), decide }
}

/** Orders tea in its first reply, in other words each time. */
export function once(reply: number, asked: number): Part[] {
  return reply === 0 ? [order(`id-${asked}`, 'tea', `note ${asked}`)] : [text(`Done, ${asked}.`)]
}

export function partsOf(chat: Chat, type: string): UiPart[] {
  return chat.messages.flatMap(({ parts }) => parts).filter((part) => part.type === type)
}

export function lastText(chat: Chat): string {
  const parts = chat.messages.at(-1)?.parts ?? []
  return parts.map(({ type, text: said }) => (type === 'text' ? said : '')).join('')
}

/** Approves, or denies, the calls that wait, and goes on. */
export async function respond(
  chat: Chat,
  approved: boolean,
  count = 99,
  message?: string,
): Promise<void> {
  const among = chat.messages.filter(({ id }) => message === undefined || id === message)
  const parts = among.flatMap((one) => one.parts).filter(({ type }) => type === 'tool-order')
  const waits = parts.filter(({ state }) => state === 'approval-requested')
  expect(waits.length).toBeGreaterThan(0)
  for (const { approval } of waits.slice(0, count)) {
    await chat.addToolApprovalResponse({ id: approval?.id ?? '', approved })
  }
  await chat.sendMessage()
}

export { text }

/** A line to a handler that breaks once, behind a mark; the server works on to its end. */
export function lossy(handler: Handler) {
  const line = {
    cutAt: null as string | null,
    /** The server has ended what the client lost. */
    ended: Promise.resolve(),
    handler: async (request: Request): Promise<Response> => {
      const { body, ...response } = await handler(request).then(({ body, headers, status }) => ({
        ...{ body, headers, status },
      }))
      const { cutAt } = line
      line.cutAt = null
      if (cutAt === null || body === null) return new Response(body, response)
      const reader = body.getReader()
      const decoder = new TextDecoder()
      const pull = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
        const { done, value } = await reader.read()
        if (done) return controller.close()
        if (!decoder.decode(value).includes(cutAt)) return controller.enqueue(value)
        controller.error(new Error('the connection is lost'))
        line.ended = (async () => {
          while (!(await reader.read()).done);
        })()
      }
      return new Response(new ReadableStream({ pull }), response)
    },
  }
  return line
}
