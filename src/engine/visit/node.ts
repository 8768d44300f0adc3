// Runs a node's function and makes of what it returned what is to be recorded: an output, a
// failure, or the state at the next node.

import {
  type CounterfoilError,
  errorFor,
  failureOf,
  isCounterfoilError,
} from '../../model/errors.ts'
import type { Graph } from '../../model/graph/graph.ts'
import { isNodeEnd } from '../../model/graph/node.ts'
import { keptText, plainCopy } from '../../model/json/canonical.ts'
import * as limits from '../../model/limits.ts'
import { isRecord, isSame, mergePatch, put } from '../../model/run/state.ts'
import { validate } from '../../model/tool/schema.ts'
import { Gate } from '../call/gate.ts'
import { createContext } from './context.ts'
import { currentVisit, type NodeOutcome, type Visit } from './visit.ts'

export function runNode(visit: Visit, graph: Graph, state: unknown): void {
  currentVisit.run(visit, () => {
    outcomeOf(visit, graph, state).then(
      (outcome) => visit.nodeEnded(outcome),
      (error) => visit.nodeEnded({ kind: 'failed', error: explained(error) }),
    )
  })
}

const frozen = /object is not extensible|read only property|Cannot delete property/

/** An engine's words for a change of the state in place do not say what to do instead. */
function explained(error: unknown): unknown {
  const { name, message } = failureOf(error, 'failed')
  if (name !== 'TypeError' || !frozen.test(message)) return error
  const says = "a run's state is read-only: give ctx.go(node, patch) what changes"
  return new TypeError(`${message} (${says})`, { cause: error })
}

async function outcomeOf(visit: Visit, graph: Graph, state: unknown): Promise<NodeOutcome> {
  const { node: name } = visit.run
  const node = graph.nodes.get(name)
  if (node === undefined) throw invalid(graph, `has no node ${name}`)
  // A workflow's input is its own to change; a graph's state is shared with the checkpoints.
  const own = graph.kind === 'workflow' ? plainCopy(state) : state
  const end: unknown = await node(own, createContext(visit, new Gate(visit), state))
  if (!isNodeEnd(end)) {
    throw invalid(graph, `node ${name} must return ctx.go(…), ctx.done(…) or ctx.fail(…)`)
  }
  if (end.kind === 'fail') {
    const { message, details } = end
    return {
      kind: 'failed',
      error: errorFor('NODE_FAILED', message, details),
    }
  }
  if (end.kind === 'go') {
    if (!graph.nodes.has(end.node)) throw invalid(graph, `node ${name} goes to unknown ${end.node}`)
    if (graph.edges && !graph.edges.get(name)?.has(end.node)) throw noEdge(graph, name, end.node)
    return { kind: 'go', node: end.node, state: await patched(graph, state, end.patch) }
  }
  const what = { code: 'OUTPUT_INVALID', subject: `output of ${graph.id}` } as const
  const output = graph.output ? await validate(graph.output, end.output, what) : end.output
  return { kind: 'done', outputJson: output === undefined ? null : keptText(output) }
}

/** Validation runs on the keys that changed: the rest was valid when it was put there. */
async function patched(
  graph: Graph,
  state: unknown,
  patch: Readonly<Record<string, unknown>> | null,
): Promise<unknown> {
  if (patch === null) return state
  // What has no keys of its own (a number, a Map) is refused as it is, unless it is just empty.
  if (!isRecord(patch) || Object.keys(patch).length === 0) return mergePatch(state, patch)
  const valid: Record<string, unknown> = {}
  let whole: Record<string, unknown> | null = null
  for (const [key, value] of Object.entries(patch)) {
    const schema = graph.stateKey(key)
    const what = { code: 'STATE_INVALID', subject: `state.${key} of ${graph.id}` } as const
    if (schema) put(valid, key, kept(value, await validate(schema, value, what)))
    else {
      whole ??= await validWhole(graph, mergePatch(state, patch), key)
      if (!Object.hasOwn(whole, key) && value !== undefined) throw noKey(graph, key)
      put(valid, key, kept(value, whole[key]))
    }
  }
  return mergePatch(state, valid, limits.depthMax)
}

/**
 * Libraries give a copy of what they have looked at. Where it says the same, the value itself is
 * kept: the parts of it that are known from earlier visits need not be looked at again.
 */
function kept(value: unknown, valid: unknown): unknown {
  return isSame(value, valid) ? value : valid
}

/** For a key that the schema does not show: it has none, or its library shows no keys at all. */
async function validWhole(
  graph: Graph,
  state: unknown,
  key: string,
): Promise<Record<string, unknown>> {
  const what = { code: 'STATE_INVALID', subject: `state of ${graph.id}` } as const
  try {
    return (await validate(graph.input, state, what)) as Record<string, unknown>
  } catch (error) {
    // What a schema has transformed does not fit it a second time: that is not what is wrong here.
    const shows = isRecord(state) && Object.keys(state).some((known) => graph.stateKey(known))
    if (!shows || !isCounterfoilError(error, 'STATE_INVALID')) throw error
    throw noKey(graph, key, error)
  }
}

function noKey(graph: Graph, key: string, cause?: Error): CounterfoilError {
  const why = cause ? ` (${cause.message})` : ''
  const message = `state of ${graph.id} has no key ${JSON.stringify(key)}${why}`
  return errorFor('STATE_INVALID', message)
}

function noEdge(graph: Graph, from: string, to: string): CounterfoilError {
  const declared = [...(graph.edges?.get(from) ?? [])].join(', ') || 'nowhere'
  const says = `node ${from} went to node ${to}, and its edges allow: ${declared}`
  return invalid(graph, `${says}; add ${to} to edges.${from} in a new version of the graph`)
}

function invalid(graph: Graph, why: string): CounterfoilError {
  return errorFor('GRAPH_INVALID', graph.id, why)
}
