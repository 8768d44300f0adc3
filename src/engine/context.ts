// Makes the `ctx` of a visit. Time, randomness, ids and log lines are pure calls like any other, so
// that a replay sees what the first execution saw; a log line is a call, so that it is said once.
import { plainCopy } from '../model/canonical.ts'
import type { Call, Context, Question, StepSpec } from '../model/context.ts'
import { CounterfoilError } from '../model/errors.ts'
import { type AnySpec, checkName, isTool, makeTool, type Tool } from '../model/tool.ts'
import type { Gate } from './gate.ts'
import type { Visit } from './visit.ts'

export function createContext(visit: Visit, gate: Gate): Context {
  const { run, graph, clock } = visit
  const builtin = (name: string, value: (input: unknown) => unknown) =>
    makeTool(`counterfoil.${name}`, { replayClass: 'pure', run: value })
  const tools = {
    now: builtin('now', () => clock.now()),
    random: builtin('random', () => clock.random()),
    uuid: builtin('uuid', () => clock.uuid()),
    ask: makeTool('counterfoil.ask', { replayClass: 'unsafe_on_replay', run: () => {} }),
  }
  const ctx = {
    runId: run.runId,
    node: run.node,
    visit: run.visit,
    call: (tool: Tool, input: unknown) => {
      const declared = declaredTool(visit, tool)
      return declared instanceof Error ? refused(declared) : gate.issue(declared, input)
    },
    step: (spec: StepSpec<unknown, unknown>, fn: (input: unknown, call: never) => unknown) => {
      const name = checkName('tool', spec?.name)
      if (graph.tools.has(name) || name.startsWith('counterfoil.')) {
        throw new CounterfoilError('TOOL_INVALID', `step "${name}" has the name of a tool`)
      }
      const tool = makeTool(name, { ...spec, input: undefined, run: fn } as unknown as AnySpec)
      return gate.issue(tool, spec.input ?? null)
    },
    now: () => gate.issue(tools.now, null),
    random: () => gate.issue(tools.random, null),
    uuid: () => gate.issue(tools.uuid, null),
    log: (said: string, raw: unknown = null) => {
      const message = String(said)
      const data = plainCopy(raw) // as it is now, and refused here if it is not plain data
      const say = () => visit.append({ events: [visit.event('log', { message, data })] })
      void gate.issue(builtin('log', say), null)
    },
    ask: (question: Question) => {
      if (typeof question?.title !== 'string' || question.title === '') {
        throw new CounterfoilError('INPUT_INVALID', 'ctx.ask needs a title: what is asked?')
      }
      if (question.queue !== undefined && typeof question.queue !== 'string') {
        throw new CounterfoilError('INPUT_INVALID', 'ctx.ask: `queue` must be a string')
      }
      // The title is what is asked: another title is another question, other data are not.
      return gate.issue(tools.ask, { title: question.title }, plainCopy(question))
    },
  }
  return ctx as unknown as Context
}

function declaredTool(visit: Visit, tool: Tool): Tool | Error {
  const { graph } = visit
  if (isTool(tool) && graph.tools.get(tool.name) === tool) return tool
  const name = (tool as { name?: unknown } | undefined)?.name
  return new CounterfoilError(
    'TOOL_UNDECLARED',
    `graph ${graph.id} calls ${JSON.stringify(name ?? tool)} without declaring it: ` +
      `add it to the graph's tools: [${[...graph.tools.keys(), String(name)].join(', ')}]`,
    { details: { graph: graph.id, tool: name } },
  )
}

function refused(error: Error): Call<never> {
  const promise = Promise.reject(error)
  promise.catch(() => {})
  return promise as unknown as Call<never>
}
