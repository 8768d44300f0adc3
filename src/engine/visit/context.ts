// Makes the `ctx` of a visit. Time, randomness, ids and log lines are pure calls like any other, so
// that a replay sees what the first execution saw; a log line is a call, so that it is said once.
import { termsFault } from '../../model/decisions/approval.ts'
import { type CounterfoilError, errorFor } from '../../model/errors.ts'
import type {
  ApprovalRequest,
  Call,
  CallOptions,
  Context,
  Question,
  StepSpec,
} from '../../model/graph/context.ts'
import { doneWith, failWith, goTo } from '../../model/graph/node.ts'
import { plainCopy } from '../../model/json/canonical.ts'
import * as limits from '../../model/limits.ts'
import { checkName, isName, shown } from '../../model/name.ts'
import { contextTool } from '../../model/run/context-chain.ts'
import { standsForProblem } from '../../model/tool/checks.ts'
import { isSchema, type Schema } from '../../model/tool/schema.ts'
import { type AnySpec, beats, isTool, makeTool, type Tool } from '../../model/tool/tool.ts'
import type { Ask } from '../call/call.ts'
import type { Gate, IssueOptions } from '../call/gate.ts'
import { spawner } from '../wait/spawn.ts'
import { contextFor, contextOf } from './document.ts'
import type { Visit } from './visit.ts'

export function createContext(visit: Visit, gate: Gate, state: unknown): Context {
  const { run, graph, clock } = visit
  const builtin = (name: string, value: (input: unknown) => unknown) =>
    makeTool(`counterfoil.${name}`, { replayClass: 'pure', run: value })
  const tools = {
    now: builtin('now', () => clock.now()),
    random: builtin('random', () => clock.random()),
    uuid: builtin('uuid', () => clock.uuid()),
    context: makeTool(contextTool, { replayClass: 'pure', run: () => contextFor(visit, state) }),
    ask: asking('ask'),
    approval: asking('approval'),
  }
  const say = (kind: string, data: Record<string, unknown>) => {
    const write = () => visit.append({ events: [visit.event(kind, data)] })
    void gate.issue(builtin(kind, write), null)
  }
  const ctx = {
    runId: run.runId,
    node: run.node,
    visit: run.visit,
    call: (tool: Tool, input: unknown, options?: CallOptions) => {
      const declared = declaredTool(visit, tool)
      if (declared instanceof Error) return refused(declared)
      const wrong = options ? standsForProblem(declared.name, options) : null
      if (wrong) return refused(wrong)
      return gate.issue(declared, input, options ? { risk: options } : {})
    },
    step: (spec: StepSpec<unknown, unknown>, fn: (input: unknown, call: never) => unknown) => {
      const name = checkName('tool', spec?.name)
      if (graph?.tools.has(name) || name.startsWith('counterfoil.')) {
        throw errorFor('TOOL_INVALID', null, `step "${name}" has the name of a tool`)
      }
      const tool = makeTool(name, { ...spec, input: undefined, run: fn } as unknown as AnySpec)
      return gate.issue(tool, spec.input ?? null)
    },
    now: () => gate.issue(tools.now, null),
    random: () => gate.issue(tools.random, null),
    uuid: () => gate.issue(tools.uuid, null),
    context: () => contextOf(visit, gate.issue(tools.context, null)),
    // As the data are now, and refused here if they are not plain.
    log: (said: string, raw: unknown = null) =>
      say('log', { message: String(said), data: plainCopy(raw) }),
    beat: (name: string, raw: unknown = null) => {
      if (!(beats as readonly string[]).includes(name)) {
        const message = `ctx.beat: "${name}" is not one of ${beats.join(', ')}`
        throw errorFor('INPUT_INVALID', message)
      }
      say('beat', { beat: name, data: plainCopy(raw) })
    },
    // The title is what is asked: another title is another question, other data are not.
    ask: (question: Question) =>
      gate.issue(tools.ask, { title: question?.title }, { ask: askOf('question', question) }),
    approval: (request: ApprovalRequest) =>
      gate.issue(tools.approval, { title: request?.title }, { ask: askOf('approval', request) }),
    ...waitsOf(visit, gate),
    ...(graph?.kind === 'graph' ? { go: goTo, done: doneWith, fail: failWith } : {}),
  }
  return ctx as unknown as Context
}

function asking(name: string): Tool {
  return makeTool(`counterfoil.${name}`, { replayClass: 'unsafe_on_replay', run: () => {} })
}

/** What a node waits for without a worker. */
function waitsOf(visit: Visit, gate: Gate) {
  const { clock } = visit
  const [sleep, signal] = [asking('sleep'), asking('signal')]
  return {
    sleep: (ms: number) => {
      checkWait('ctx.sleep', ms, 0)
      return gate.issue(
        sleep,
        null,
        wait('timer', () => clock.now() + ms),
      )
    },
    sleepUntil: (time: number | Date) => {
      const at = time instanceof Date ? time.getTime() : time
      if (!Number.isFinite(at)) throw invalid('ctx.sleepUntil needs a time: a Date or milliseconds')
      checkWait('ctx.sleepUntil', Math.max(0, at - clock.now()), 0)
      return gate.issue(
        sleep,
        null,
        wait('timer', () => at),
      )
    },
    signal: (name: string, { timeoutMs }: { timeoutMs?: number } = {}) => {
      if (!isName(name)) throw invalid(`ctx.signal: ${shown(name)} is not a name for a signal`)
      if (timeoutMs !== undefined) checkWait('ctx.signal: `timeoutMs`', timeoutMs, 0)
      const dueAt = () => (timeoutMs === undefined ? null : clock.now() + timeoutMs)
      return gate.issue(signal, { name }, { wait: { kind: 'signal', name, dueAt } })
    },
    spawn: spawner(visit, gate),
  }
}

function askOf(kind: Ask['kind'], request: Question & ApprovalRequest): Ask {
  const name = kind === 'question' ? 'ctx.ask' : 'ctx.approval'
  const bad = (what: string) => errorFor('INPUT_INVALID', `${name}${what}`)
  if (typeof request?.title !== 'string' || request.title === '') {
    throw bad(' needs a title: what is asked?')
  }
  const { title, queue = 'default', schema, data, ...terms } = request
  if (typeof queue !== 'string' || queue === '') throw bad(': `queue` must be a string')
  const fault = termsFault(terms)
  if (fault !== null) throw bad(`: ${fault}`)
  if (schema !== undefined && !isSchema(schema)) throw bad(': `schema` must be a Standard Schema')
  return {
    kind,
    title,
    queue,
    data: plainCopy(data === undefined ? null : data),
    terms,
    schema: (schema as Schema | undefined) ?? null,
    why: null,
  }
}

function wait(kind: 'timer', dueAt: () => number): IssueOptions {
  return { wait: { kind, dueAt } }
}

function checkWait(what: string, ms: unknown, least: number): void {
  if (typeof ms === 'number' && ms >= least && ms <= limits.waitMsMax) return
  throw invalid(`${what} needs milliseconds between ${least} and ${limits.waitMsMax}`)
}

function invalid(message: string): CounterfoilError {
  return errorFor('INPUT_INVALID', message)
}

function declaredTool(visit: Visit, tool: Tool): Tool | Error {
  const { graph } = visit
  if (isTool(tool) && graph?.tools.get(tool.name) === tool) return tool
  const name = (tool as { name?: unknown } | undefined)?.name
  const declared = [...(graph?.tools.keys() ?? [])]
  return errorFor('TOOL_UNDECLARED', graph?.id, name ?? tool, declared)
}

function refused(error: Error): Call<never> {
  const promise = Promise.reject(error)
  promise.catch(() => {})
  return promise as unknown as Call<never>
}
