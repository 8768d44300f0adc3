// `ctx.spawn`: the wait for a child, and the child itself. Its `cancel` is a call of our own with a
// key: on record before the child is asked, asked again after a crash in between, and not made a
// second time by a replay that has its receipt.
import { authorFault } from '../../model/decisions/author.ts'
import { type CounterfoilError, errorFor } from '../../model/errors.ts'
import type { Call, Child } from '../../model/graph/context.ts'
import type { Graph } from '../../model/graph/graph.ts'
import { sha256 } from '../../model/json/canonical.ts'
import * as limits from '../../model/limits.ts'
import { cancelTool, spawnTool } from '../../model/replay/waits.ts'
import { type Schema, validate } from '../../model/tool/schema.ts'
import { makeTool, type Tool } from '../../model/tool/tool.ts'
import type { IssuedCall } from '../call/call.ts'
import type { Gate } from '../call/gate.ts'
import type { Visit } from '../visit/visit.ts'
import { cancelChild, childId } from './children.ts'

export function spawner(visit: Visit, gate: Gate): (child: Graph, input: unknown) => Child {
  return (graph, input) => {
    if (visit.graphs.get(graph?.id) !== graph) throw unknownGraph(visit, graph)
    const call = gate.issued(spawning(graph), { input }, { wait: { kind: 'child', graph } })
    const named = call.key === '' ? numbered(call) : null
    const cancel = (why: string) => {
      const fault = authorFault({ by: 'parent', reason: why })
      if (fault) throw errorFor('INPUT_INVALID', `child.cancel ${fault}`)
      return gate.issue(cancelling(visit, call, named), why) as Call<void>
    }
    const runId = { get: () => runIdOf(visit, call) }
    return Object.defineProperties(call.promise as Child, { runId, cancel: { value: cancel } })
  }
}

function runIdOf(visit: Visit, call: IssuedCall): string {
  if (call.key !== '') return childId(visit, call)
  throw errorFor('CHILD_UNNAMED')
}

/** The input is validated by the child's own schema; what is recorded names no version of it. */
function spawning(child: Graph): Tool {
  const subject = `input of ${child.id}`
  const named = (valid: unknown) => ({
    value: { graph: child.name, input: valid === undefined ? null : valid },
  })
  const check = ({ input }: { input: unknown }) => {
    const valid = validate(child.input, input, { code: 'INPUT_INVALID', subject })
    return valid instanceof Promise ? valid.then(named) : named(valid)
  }
  const input = schemaOf((value) => check(value as { input: unknown }))
  return makeTool(spawnTool, { replayClass: 'unsafe_on_replay', input, run: () => {} })
}

interface Cancelling {
  readonly runId: string
  readonly why: string
}

function cancelling(visit: Visit, call: IssuedCall, named: Promise<unknown> | null): Tool {
  const of = (why: unknown) => ({ value: { runId: runIdOf(visit, call), why } })
  const input = schemaOf((why) => (named ? named.then(() => of(why)) : of(why)))
  return makeTool(cancelTool, {
    replayClass: 'idempotent_with_key',
    input,
    idempotencyKey: (asked: unknown) => keyOf(asked as Cancelling),
    keyTtlMs: Number.POSITIVE_INFINITY,
    retry: { attemptMax: limits.cancelAttemptMax },
    run: (asked: unknown) => {
      const { runId, why } = asked as Cancelling
      return cancelChild(visit.store, { namespace: visit.run.namespace, runId }, why)
    },
  })
}

/** The first reason is the one that counts; another one is another call all the same. */
function keyOf({ runId, why }: Cancelling): string {
  return `${runId}/${sha256(why).slice(0, 16)}`
}

/** A child is named once its input is valid; one that never is has nothing to cancel either. */
function numbered(call: IssuedCall): Promise<unknown> {
  const known = new Promise<void>((resolve) => {
    call.onNumbered = resolve
  })
  const named = Promise.race([known, call.promise])
  named.catch(() => {})
  return named
}

function schemaOf(
  check: (value: unknown) => { value: unknown } | Promise<{ value: unknown }>,
): Schema {
  return { '~standard': { version: 1, vendor: 'counterfoil', validate: check } }
}

function unknownGraph(visit: Visit, child: Graph | undefined): CounterfoilError {
  const known = [...visit.graphs.keys()].join(', ')
  const id = String(child?.id)
  return errorFor('GRAPH_UNKNOWN', id, 'was not given to open()', `it has: ${known}`)
}
