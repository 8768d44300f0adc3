// The run that stands for a foreign workflow: no graph of ours, no checkpoint; its ledger, its
// items and its hold are like any other's.
import type { Clock } from '../clock.ts'
import { type CounterfoilError, errorFor } from '../model/errors.ts'
import * as limits from '../model/limits.ts'
import type { Decision, Run, RunRef } from '../model/run/records.ts'
import { scopeGraph } from '../model/run/scope.ts'
import type { NewRun } from '../store/store.ts'

/** What a foreign runtime calls the place that its code is at. */
export interface ScopeIds {
  /** Its run or thread: the ledger's workflow_id. */
  readonly workflowId: string
  readonly nodeId: string
  /** One arrival at the node: the same for every replay of it, another for the next one. */
  readonly checkpointId: string
  /**
   * What becomes of the workflow once a person has abandoned something at one place of it: it has
   * ended (`end`, unless told), or its other places go on, as the later messages of a chat.
   */
  readonly afterAbandon?: 'end' | 'go_on'
}

export function checkScopeIds(ids: ScopeIds): ScopeIds {
  for (const key of ['workflowId', 'nodeId', 'checkpointId'] as const) {
    const id: unknown = ids?.[key]
    const usable = typeof id === 'string' && id !== '' && id.length <= limits.runIdLengthMax
    if (usable && !/\p{Cc}|\p{Cs}/u.test(id)) continue
    const must = `1 to ${limits.runIdLengthMax} characters, none of them a control character`
    throw errorFor('SCOPE_INVALID', `\`${key}\` is ${JSON.stringify(id)}: it must be ${must}`)
  }
  return ids
}

export function newScopeRun({ namespace, runId }: RunRef, clock: Clock): NewRun {
  const at = clock.now()
  const where = { generation: 0, visit: 1 }
  return {
    run: {
      namespace,
      runId,
      graph: scopeGraph.name,
      version: scopeGraph.version,
      ...where,
      state: 'pending',
      node: 'scope',
      reached: 1,
      inputHash: '',
      outputJson: null,
      outputDigest: null,
      errorJson: null,
      waitingFor: null,
      stop: null,
      fence: 0,
      workerId: null,
      arrivals: 0,
      claims: 0,
      commitId: null,
      createdAt: at,
      updatedAt: at,
      parentRunId: null,
      parentAttemptId: null,
      startedBy: null,
      wakeAt: null,
      endedAt: null,
      swept: null,
      traceId: clock.uuid().replaceAll('-', ''),
    },
    checkpoint: null,
    event: { namespace, runId, ...where, at, kind: 'started', data: { graph: scopeGraph.name } },
  }
}

/** Why no call is made for a run in this state. */
export function stopped(run: Pick<Run, 'runId' | 'state'>): CounterfoilError {
  if (run.state === 'paused') return errorFor('RUN_PAUSED', run.runId)
  return errorFor('RUN_ENDED', run, 'use another workflow id')
}

/** It ended by a person's decision about one of its calls, and by nothing else. */
export function isAbandoned({ state, errorJson }: Pick<Run, 'state' | 'errorJson'>): boolean {
  const { code } = JSON.parse(errorJson ?? '{}') as { code?: unknown }
  return state === 'failed' && code === 'RUN_ABANDONED'
}

export function placeAbandoned(workflowId: string, decision: Decision): CounterfoilError {
  return errorFor('RUN_ABANDONED', decision, { workflowId })
}

export function scopeClosed(workflowId: string): CounterfoilError {
  return errorFor('SCOPE_CLOSED', workflowId)
}

export function notForeign(run: Run): CounterfoilError {
  const why = `is a run of graph ${run.graph}: a scope needs a workflow id of its own`
  return errorFor('SCOPE_INVALID', `${run.runId} ${why}`)
}
