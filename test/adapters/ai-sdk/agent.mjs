// An agent of the AI SDK against the upstream process, which dies at a failpoint or works until
// every thread is through or waits for a person.
// agent.mjs <store> <upstream port> <how> <package> <die at: name:n, or -> <threads, by comma>
//   alone | workflow | plain   in scopes, in a workflow, or without Counterfoil: messages are saved
//                              after each step, as its documentation shows
//   ai | ai7                   which major
import { randomUUID } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { isCounterfoilError, open, workflow } from 'counterfoil'
import { guardAgent } from 'counterfoil/ai-sdk'
import { addFailpoints } from 'counterfoil/testing'
import { z } from 'zod'
import { post } from '../../crash/programs/workload.mjs'
import { chargeClass, failpoint, sdkOf, sender } from './kit.mjs'

const [, , store = '', port = '0', how = 'alone', major = 'ai', dieAt = '-', threads = 't1'] =
  process.argv
const hit = failpoint(dieAt)
const { sdk, Model } = await sdkOf(major)

/** The calls of a reply, by how many came before it; their ids are others whenever it is asked. */
function callsOf(/** @type {string} */ to, /** @type {number} */ turn) {
  const call = (/** @type {string} */ toolName, /** @type {unknown} */ input) => ({
    ...{ type: 'tool-call', toolCallId: randomUUID(), toolName, input: JSON.stringify(input) },
  })
  if (turn === 0) return [call('search', { q: to }), call('mail', { to, subject: 'hello' })]
  if (turn === 1) return [call('charge', { to, n: 1 }), call('mail', { to, subject: 'bye' })]
  return []
}

const model = new Model({
  doGenerate: async (/** @type {any} */ { prompt }) => {
    const to = prompt.find((/** @type {any} */ { role }) => role === 'user').content[0].text
    const turn = prompt.filter((/** @type {any} */ { role }) => role === 'assistant').length
    hit('before model')
    // The upstream's log tells what came before what.
    await post(Number(port), { tool: 'model', key: null, input: { to, turn }, attemptId: null })
    hit('after model')
    const calls = callsOf(to, turn)
    const unified = calls.length > 0 ? 'tool-calls' : 'stop'
    return {
      content: calls.length > 0 ? calls : [{ type: 'text', text: 'All done.' }],
      finishReason: { unified, raw: unified },
      usage: { inputTokens: { total: 1 }, outputTokens: { total: 1 } },
      warnings: [],
    }
  },
})

const send = sender(port, hit)

const tools = {
  search: sdk.tool({ inputSchema: z.object({ q: z.string() }), execute: async ({ q }) => q }),
  mail: sdk.tool({
    inputSchema: z.object({ to: z.string(), subject: z.string() }),
    execute: (input, options) => send('mail', input, options),
  }),
  charge: sdk.tool({
    inputSchema: z.object({ to: z.string(), n: z.number() }),
    execute: (input, options) => send('charge', input, options),
  }),
}
const agent = guardAgent({
  model,
  tools,
  classes: {
    search: { replayClass: 'pure' },
    mail: { replayClass: 'unsafe_on_replay' },
    charge: chargeClass,
  },
})
const stopWhen = sdk.stepCountIs(10)

/** What people write: each step's messages are saved, and a new process goes on from there. */
async function plain(/** @type {string} */ thread) {
  const path = `${store.slice('sqlite:'.length)}.${thread}.json`
  /** @type {any[]} */
  const saved = existsSync(path)
    ? JSON.parse(readFileSync(path, 'utf8'))
    : [{ role: 'user', content: thread }]
  const messages = [...saved]
  await sdk.generateText({
    ...{ model, tools, stopWhen, messages },
    onStepFinish: ({ response }) => {
      writeFileSync(path, JSON.stringify([...saved, ...response.messages]))
    },
  })
  return 'done'
}

const answer = workflow({
  id: 'answer@1.0.0',
  input: z.object({ to: z.string() }),
  tools: agent.declared,
  run: async ({ to }, ctx) => {
    const { model, tools } = agent.at(ctx)
    return (await new sdk.ToolLoopAgent({ model, tools }).generate({ prompt: to })).text
  },
})

async function guarded() {
  const cf = await open({ store, settleMs: 60, graphs: [answer] })
  addFailpoints(cf.store, hit)
  const alone = async (/** @type {string} */ workflowId) => {
    try {
      await agent.run(cf, { workflowId, checkpointId: 'turn-1' }, ({ model, tools }) =>
        sdk.generateText({ model, tools, stopWhen, prompt: workflowId }),
      )
      return 'done'
    } catch (error) {
      if (isCounterfoilError(error, 'REPLAY_UNSAFE')) return 'waiting'
      throw error
    }
  }
  const inRun = async (/** @type {string} */ runId) => {
    const run = await cf.start(answer, { to: runId }, { runId })
    const { state } = await run.until('completed', 'failed', 'waiting_human')
    return state === 'completed' ? 'done' : state
  }
  if (how === 'workflow') await cf.worker().start()
  /** @type {(thread: string) => Promise<string>} */
  const work = how === 'workflow' ? inRun : alone
  const states = await Promise.all(threads.split(',').map(work))
  await cf.close()
  return states
}

const states = how === 'plain' ? await Promise.all(threads.split(',').map(plain)) : await guarded()
process.stdout.write(JSON.stringify(states))
