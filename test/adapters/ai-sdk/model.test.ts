// The model's calls: what is recorded of them, failures and tries, tools that providers execute.
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { guardAgent } from '../../../src/adapters/ai-sdk/index.ts'
import { call, file, ids, listRecords, majors, onlyItem, opens, scripted, text } from './sdk.ts'

const pureSearch = { search: { replayClass: 'pure' } } as const

describe.each(majors)('$name', (major) => {
  const { sdk, Model } = major
  const stopWhen = sdk.stepCountIs(40)
  const search = sdk.tool({
    inputSchema: z.object({ q: z.string() }),
    execute: async ({ q }) => `found ${q}`,
  })

  function apiError(statusCode: number) {
    const [url, message] = ['https://model.example', `status ${statusCode}`]
    return new sdk.APICallError({ message, url, requestBodyValues: { key: 'sk-1' }, statusCode })
  }

  /** Fails as told, then says its text. */
  function failing(errors: unknown[]) {
    const model = scripted(major, [[text('Hello.')]])
    const { doGenerate } = model
    model.doGenerate = async (options) => {
      const error = errors.shift()
      if (error === undefined) return doGenerate(options)
      model.doGenerateCalls.push(options)
      throw error
    }
    return model
  }

  test('K2, B7 nothing secret is stored, and bytes do not grow with the square', async () => {
    const path = file()
    const cf = await opens({ store: `sqlite:${path}` })
    const steps = 30
    const word = 'x'.repeat(1_000)
    const script = Array.from({ length: steps }, (_, n) => [call(`c${n}`, 'search', { q: word })])
    const agent = guardAgent({
      model: scripted(major, script),
      tools: { search },
      classes: pureSearch,
    })
    await agent.run(cf, ids, ({ model, tools }) =>
      sdk.generateText({
        ...{ model, tools, stopWhen, prompt: 'a-long-prompt '.repeat(500) },
        headers: { authorization: 'Bearer sk-request' },
      }),
    )
    const records = await listRecords(cf)
    expect(records).toHaveLength(2 * steps + 1)
    const bytes = records.reduce(
      (sum, { inputJson, resultJson }) =>
        sum + (inputJson?.length ?? 0) + (resultJson?.length ?? 0),
      0,
    )
    // Each step's call and result, once; the prompts alone would be over half a million.
    expect(bytes).toBeLessThan(steps * 4_000)
    await cf.close()
    const stored = [path, `${path}-wal`].map((name) => {
      try {
        return readFileSync(name, 'latin1')
      } catch {
        return ''
      }
    })
    const all = stored.join('')
    expect(all).toContain('xxxxxxxx')
    for (const secret of ['sk-request', 'sk-response', 'raw-body', 'a-long-prompt']) {
      expect(all).not.toContain(secret)
    }
  })

  test('K2 the AI SDK tries again as it always does; a replay has no need to', async () => {
    const cf = await opens()
    const model = failing([apiError(503)])
    const agent = guardAgent({ model })
    const work = () =>
      agent.run(cf, ids, ({ model }) => sdk.generateText({ model, prompt: 'x', maxRetries: 1 }))
    expect((await work()).text).toBe('Hello.')
    expect((await work()).text).toBe('Hello.')
    expect(model.doGenerateCalls).toHaveLength(2)
  })

  test('K2 a failure is the provider’s own, and does not bind the next process', async () => {
    const cf = await opens()
    const model = failing([apiError(401)])
    const agent = guardAgent({ model })
    const work = () => agent.run(cf, ids, ({ model }) => sdk.generateText({ model, prompt: 'x' }))
    await expect(work()).rejects.toMatchObject({ statusCode: 401 })
    expect(JSON.stringify(await listRecords(cf))).not.toContain('sk-1')
    expect((await work()).text).toBe('Hello.')
    expect((await work()).text).toBe('Hello.')
    expect(model.doGenerateCalls).toHaveLength(2)
  })

  test('K2, C2 our own errors are not tried again', async () => {
    const cf = await opens()
    const send = sdk.tool({
      inputSchema: z.object({}),
      execute: async (): Promise<string> => Promise.reject(new Error('socket hang up')),
    })
    const model = scripted(major, [[call('c1', 'send', {})]])
    const agent = guardAgent({
      model,
      tools: { send },
      classes: { send: { replayClass: 'unsafe_on_replay' } },
    })
    let asked = 0
    const work = agent.run(cf, ids, ({ model, tools }) => {
      const counting = new Proxy(model, {
        get: (target, key) => {
          if (key === 'doGenerate') asked++
          return Reflect.get(target, key)
        },
      })
      return sdk.generateText({ model: counting, tools, stopWhen, prompt: 'x', maxRetries: 5 })
    })
    await expect(work).rejects.toMatchObject({ code: 'REPLAY_UNSAFE' })
    expect(asked).toBe(2)
  })

  test('K2, A1 what has no class is refused, all of it at once', () => {
    const model = scripted(major, [])
    const web = { type: 'provider', id: 'mock.web', args: {}, inputSchema: z.object({}) }
    const client = sdk.tool({ inputSchema: z.object({}) })
    const tools = { search, web, client, other: search }
    expect(() => guardAgent({ model, tools, classes: pureSearch })).toThrow(
      expect.objectContaining({ code: 'TOOLS_UNCLASSIFIED', details: { tools: ['web', 'other'] } }),
    )
    const strange = { ...pureSearch, serach: { replayClass: 'pure' } } as const
    const invalid = expect.objectContaining({ code: 'AGENT_INVALID' })
    expect(() => guardAgent({ model, tools: { search }, classes: strange })).toThrow(invalid)
    const wrong = { search: { replayClass: 'safe' } } as never
    expect(() => guardAgent({ model, tools: { search }, classes: wrong })).toThrow(
      expect.objectContaining({ code: 'TOOL_INVALID' }),
    )
    expect(() => guardAgent({ model: 'openai/gpt' as never })).toThrow(invalid)
    const named = { model: search }
    const classes = { model: { replayClass: 'pure' } } as const
    expect(() => guardAgent({ model, tools: named, classes })).toThrow(invalid)
    expect(() => guardAgent({ model, tools: named, classes, name: 'ask' })).not.toThrow()
    const keyed = { web: { replayClass: 'idempotent_with_key', idempotencyKey: () => 'k' } }
    expect(() => guardAgent({ model, tools: { web }, classes: keyed as never })).toThrow(invalid)
  })

  test('K2 a tool that the guard has not seen is refused before the model is asked', async () => {
    const cf = await opens()
    const model = scripted(major, [])
    const agent = guardAgent({ model, tools: { search }, classes: pureSearch })
    const work = agent.run(cf, ids, ({ model, tools }) =>
      sdk.generateText({ model, tools: { ...tools, more: search }, prompt: 'x' }),
    )
    await expect(work).rejects.toMatchObject({ code: 'AGENT_INVALID' })
    expect(model.doGenerateCalls).toHaveLength(0)
  })

  test('K2, C2 a call whose provider executes an unsafe tool is not repeated', async () => {
    const cf = await opens()
    let fails = true
    const model = new Model({
      doGenerate: async () => {
        if (fails) throw new Error('connection lost')
        throw new Error('it was asked again')
      },
    })
    const shell = { type: 'provider', id: 'mock.shell', args: {}, inputSchema: z.object({}) }
    const classes = { shell: { replayClass: 'unsafe_on_replay' } } as const
    const agent = guardAgent({ model, tools: { shell }, classes })
    const work = () => agent.run(cf, ids, ({ model }) => sdk.generateText({ model, prompt: 'x' }))
    await expect(work()).rejects.toMatchObject({ code: 'REPLAY_UNSAFE' })
    fails = false
    await expect(work()).rejects.toMatchObject({ code: 'REPLAY_UNSAFE' })
    const { itemId, version, body } = await onlyItem(cf)
    expect(body.input).toMatchObject({ mode: 'generate', messages: 1 })
    const by = { by: 'ana', reason: 'seen in its log' }
    const decision = { ...by, outcome: 'happened', result: 'The files are gone.' } as const
    await cf.inbox.decide(itemId, { ...decision, version })
    expect((await work()).text).toBe('The files are gone.')
    expect((await work()).text).toBe('The files are gone.')
    expect(model.doGenerateCalls).toHaveLength(1)
  })

  test('K2 a provider that refuses has done nothing: that is no doubt', async () => {
    const cf = await opens()
    const model = failing([apiError(429)])
    const shell = { type: 'provider', id: 'mock.shell', args: {}, inputSchema: z.object({}) }
    const classes = { shell: { replayClass: 'unsafe_on_replay' } } as const
    const agent = guardAgent({ model, tools: { shell }, classes })
    const work = (maxRetries: number) =>
      agent.run(cf, ids, ({ model }) => sdk.generateText({ model, prompt: 'x', maxRetries }))
    await expect(work(0)).rejects.toMatchObject({ statusCode: 429 })
    expect((await work(0)).text).toBe('Hello.')
    const [{ replayClass } = {}] = await listRecords(cf)
    expect(replayClass).toBe('unsafe_on_replay')
  })

  test('K2 a second model of the agent is recorded like the first', async () => {
    const cf = await opens()
    const [big, small] = [scripted(major, [[text('big')]]), scripted(major, [[text('small')]])]
    Object.assign(small, { modelId: 'small' })
    const agent = guardAgent({ model: big })
    for (let i = 0; i < 2; i++) {
      const said = await agent.run(cf, ids, async ({ model, record }) => {
        const first = await sdk.generateText({ model: record(small), prompt: 'x' })
        const second = await sdk.generateText({ model, prompt: 'x' })
        return [first.text, second.text]
      })
      expect(said).toEqual(['small', 'big'])
    }
    expect([big, small].map((model) => model.doGenerateCalls.length)).toEqual([1, 1])
  })
})
