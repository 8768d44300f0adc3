// Both majors of the AI SDK with their own mock models, under the types of the older one; and a
// model that says what a script says.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as ai6 from 'ai'
import { MockLanguageModelV3 } from 'ai/test'
import * as ai7 from 'ai7'
import { MockLanguageModelV4 } from 'ai7/test'
import { afterEach } from 'vitest'
import type { Part } from '../../../src/adapters/ai-sdk/reply.ts'
import { type Counterfoil, type OpenOptions, open } from '../../../src/index.ts'

export type Sdk = typeof ai6
type Mock = typeof MockLanguageModelV3

export interface Major {
  readonly name: string
  readonly sdk: Sdk
  readonly Model: Mock
}

export const majors: readonly Major[] = [
  { name: 'ai 6', sdk: ai6, Model: MockLanguageModelV3 },
  {
    name: 'ai 7',
    sdk: ai7 as unknown as Sdk,
    Model: MockLanguageModelV4 as unknown as Mock,
  },
]

const opened: Counterfoil[] = []
const folders: string[] = []

afterEach(async () => {
  for (const cf of opened.splice(0)) await cf.close()
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true })
})

export function file(): string {
  const folder = mkdtempSync(join(tmpdir(), 'counterfoil-ai-'))
  folders.push(folder)
  return join(folder, 'runs.db')
}

export async function opens(options: Partial<OpenOptions> = {}): Promise<Counterfoil> {
  const cf = await open({ store: 'memory:', settleMs: 30, onWarning: () => {}, ...options })
  opened.push(cf)
  return cf
}

export const ids = { workflowId: 'chat-1', checkpointId: 'turn-1' }
export const ref = { namespace: 'default', runId: ids.workflowId }

export function call(toolCallId: string, toolName: string, input: unknown): Part {
  return { type: 'tool-call', toolCallId, toolName, input: JSON.stringify(input) }
}

export function text(said: string): Part {
  return { type: 'text', text: said } as Part
}

const usage = {
  inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 3, text: 3, reasoning: 0 },
}

function finish(content: readonly Part[]) {
  const unified = content.some(({ type }) => type === 'tool-call') ? 'tool-calls' : 'stop'
  return { finishReason: { unified, raw: unified }, usage }
}

/** Which reply comes next is told by how many the prompt has already. */
function turnOf({ prompt }: { prompt: readonly { role: string }[] }): number {
  return prompt.filter(({ role }) => role === 'assistant').length
}

export type Script = readonly (readonly Part[])[]

/** A model that says the n-th reply to a prompt with n replies in it; it counts its calls. */
export function scripted({ Model }: Major, script: Script) {
  const said = (options: unknown) => script[turnOf(options as never)] ?? [text('done')]
  return new Model({
    doGenerate: async (options) => {
      const content = said(options)
      const response = {
        id: 'r-1',
        timestamp: new Date(86_400_000),
        modelId: 'scripted',
        headers: { 'x-secret': 'sk-response' },
        body: 'raw-body',
      }
      return { content, ...finish(content), warnings: [], response } as never
    },
    doStream: async (options) => ({ stream: streamOf(partsFor(said(options))) }) as never,
  })
}

export function partsFor(content: readonly Part[]): Part[] {
  return [
    { type: 'stream-start', warnings: [] } as Part,
    { type: 'response-metadata', id: 'r-1', timestamp: new Date(86_400_000) } as Part,
    ...content.flatMap((part): Part[] => {
      if (part.type !== 'text') return [part]
      const words = (part as unknown as { text: string }).text.split(/(?<= )/)
      const deltas = words.map((delta) => ({ type: 'text-delta', id: 't1', delta }))
      return [{ type: 'text-start', id: 't1' }, ...deltas, { type: 'text-end', id: 't1' }]
    }),
    { type: 'finish', ...finish(content) } as Part,
  ]
}

export function streamOf(parts: readonly Part[]): ReadableStream<Part> {
  return new ReadableStream({
    start: (controller) => {
      for (const part of parts) controller.enqueue(part)
      controller.close()
    },
  })
}

export async function listRecords(cf: Counterfoil, runId = ids.workflowId) {
  return (await cf.store.listRecords({ ...ref, runId }, { countMax: 500 })).items
}

export async function eventsOf(cf: Counterfoil, kind: string, runId = ids.workflowId) {
  const { items } = await cf.store.listEvents({ ...ref, runId }, {})
  return items.filter((event) => event.kind === kind).map((event) => event.data)
}

/** The one item that waits. */
export async function onlyItem(cf: Counterfoil) {
  const { items } = await cf.inbox.list()
  if (items.length !== 1 || !items[0]) throw new Error(`${items.length} items wait`)
  return items[0]
}
