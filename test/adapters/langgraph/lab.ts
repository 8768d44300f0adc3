// What the tests of guard() share: a chat model that says what a script tells it, and tools whose
// upstream remembers what it was sent.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { BaseChatModel } from '@langchain/core/language_models/chat_models'
import { AIMessage, type BaseMessage, HumanMessage } from '@langchain/core/messages'
import { tool } from '@langchain/core/tools'
import { afterEach } from 'vitest'
import { z } from 'zod'
import { type Counterfoil, isCounterfoilError, type OpenOptions, open } from '../../../src/index.ts'

const opened: Counterfoil[] = []
const folders: string[] = []

afterEach(async () => {
  for (const cf of opened.splice(0)) await cf.close()
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

export function file(): string {
  const folder = mkdtempSync(join(tmpdir(), 'counterfoil-langgraph-'))
  folders.push(folder)
  return `sqlite:${join(folder, 'runs.db')}`
}

export async function opens(store = file(), options: Partial<OpenOptions> = {}) {
  const cf = await open({ store, settleMs: 30, onWarning: () => {}, ...options })
  opened.push(cf)
  return cf
}

interface Asks {
  name: string
  args: Record<string, unknown>
  id?: string
}

type Script = (messages: BaseMessage[], asked: number) => string | Asks[]

let replies = 0

/** Ids of its own at every reply, as models have; `asked` counts how often it was asked. */
export class ScriptedModel extends BaseChatModel {
  asked = 0
  private readonly script: Script

  constructor(script: Script) {
    super({})
    this.script = script
  }

  override _llmType(): string {
    return 'scripted'
  }

  override bindTools(): this {
    return this
  }

  override async _generate(messages: BaseMessage[]) {
    this.asked++
    const said = this.script(messages, this.asked)
    const n = ++replies
    const calls = typeof said === 'string' ? [] : said
    const message = new AIMessage({
      id: `reply-${n}`,
      content: typeof said === 'string' ? said : '',
      tool_calls: calls.map((call, i) => ({
        ...{ name: call.name, args: call.args, type: 'tool_call' as const },
        id: call.id ?? `call-${n}-${i}`,
      })),
    })
    return { generations: [{ text: String(message.content), message }] }
  }
}

/** Asks for these calls in every turn of the conversation, then says what their answers were. */
export function asking(...calls: Asks[]): ScriptedModel {
  return new ScriptedModel((messages) => {
    const turn = messages.slice(messages.findLastIndex((each) => each.getType() === 'human'))
    const answers = turn.filter((each) => each.getType() === 'tool')
    const done = answers.length >= calls.length && calls.length > 0
    return done ? `done: ${answers.map((each) => each.content).join(' | ')}` : calls
  })
}

export interface Outbox {
  sent: string[]
  /** What the next send does after it has gone out. */
  after: (to: string) => void | Promise<void>
}

export function mailer() {
  const outbox: Outbox = { sent: [], after: () => {} }
  const sendEmail = tool(
    async ({ to }) => {
      outbox.sent.push(to)
      await outbox.after(to)
      return `sent to ${to} as m${outbox.sent.length}`
    },
    {
      name: 'send_email',
      description: 'Sends an email',
      schema: z.object({ to: z.string(), subject: z.string().default('hello') }),
    },
  )
  const search = tool(async ({ q }) => `found ${q}`, {
    name: 'search',
    description: 'Searches the web',
    schema: z.object({ q: z.string() }),
  })
  return { outbox, sendEmail, search }
}

export const unsafe = { replayClass: 'unsafe_on_replay' } as const
export const pure = { replayClass: 'pure' } as const

export function thread(id = 't1') {
  return { configurable: { thread_id: id } }
}

export function says(text = 'go') {
  return { messages: [new HumanMessage(text)] }
}

interface Interrupted {
  __interrupt__?: { id: string; value: { counterfoil?: { itemId: string } } }[]
}

/** The item that a graph waits for, by what its invocation gave. */
export function waitsFor(result: unknown): string | undefined {
  return (result as Interrupted).__interrupt__?.[0]?.value.counterfoil?.itemId
}

export function lastText(result: unknown): string {
  return String((result as { messages: BaseMessage[] }).messages.at(-1)?.content)
}

/** How each of them ended: what it gave, or the code of its error. */
export async function settled(all: readonly Promise<unknown>[]) {
  const ends = await Promise.allSettled(all)
  return ends.map((end) => {
    if (end.status === 'fulfilled') return 'done'
    if (isCounterfoilError(end.reason)) return end.reason.code
    throw end.reason
  })
}
