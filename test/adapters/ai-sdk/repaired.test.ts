// Calls that are repaired: what the model wrote twice may become two different calls.
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { guardAgent } from '../../../src/adapters/ai-sdk/index.ts'
import { ids, majors, opens } from './sdk.ts'

describe.each(majors)('$name', ({ sdk, Model }) => {
  test('K2 calls of the same broken text, repaired differently, are both made', async () => {
    const cf = await opens()
    const sent: string[] = []
    const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } }
    const broken = (toolCallId: string) => ({
      ...{ type: 'tool-call', toolCallId, toolName: 'send', input: '{"to":' },
    })
    const model = new Model({
      doGenerate: async ({ prompt }: { prompt: { role: string }[] }) => {
        const first = prompt.every(({ role }) => role !== 'assistant')
        const content = first ? [broken('c1'), broken('c2')] : [{ type: 'text', text: 'done' }]
        const finishReason = { unified: first ? 'tool-calls' : 'stop' }
        return { content, finishReason, usage, warnings: [] } as never
      },
    })
    const send = sdk.tool({
      inputSchema: z.object({ to: z.string() }),
      execute: async ({ to }) => {
        sent.push(to)
        return `sent to ${to}`
      },
    })
    const classes = { send: { replayClass: 'unsafe_on_replay' } } as const
    const agent = guardAgent({ model, tools: { send }, classes })
    const meant: Record<string, string> = { c1: 'ana', c2: 'bob' }
    const { steps } = await agent.run(cf, ids, (given) =>
      sdk.generateText({
        ...{ ...given, prompt: 'go', stopWhen: sdk.stepCountIs(3) },
        experimental_repairToolCall: async ({ toolCall }) => ({
          ...{ ...toolCall, input: JSON.stringify({ to: meant[toolCall.toolCallId] }) },
        }),
      }),
    )
    const results = steps[0]?.toolResults.map(({ toolCallId, output }) => [toolCallId, output])
    expect(results).toEqual([
      ['c1', 'sent to ana'],
      ['c2', 'sent to bob'],
    ])
    expect(sent).toEqual(['ana', 'bob'])
  })
})
