// What is made of a run's rows, as it travels: by --json and by the API.
import type { RunDocument } from '../../model/run/document.ts'
import type { Preview } from '../run/preview.ts'
import { iso } from './iso.ts'
import { runJson, waitingJson } from './rows.ts'

export function previewJson({ run, calls, replay, rerun, park, notes }: Preview) {
  return {
    run: runJson(run),
    calls: calls.map((call) => ({
      tool_name: call.tool,
      nth: call.nth,
      replay_class: call.replayClass,
      status: call.status,
      attempts: call.attempt,
      action: call.action,
      why: call.why,
    })),
    replay,
    rerun,
    park,
    notes,
  }
}

export function documentJson(document: RunDocument) {
  const { budget, contract } = document
  const step = (row: RunDocument['completed'][number]) => ({
    node: row.node,
    tool_name: row.tool,
    at: iso(row.at),
    evidence: { span_id: row.evidence.span, external_id: row.evidence.externalId },
  })
  return {
    run_id: document.runId,
    trace_id: document.traceId,
    thread_id: document.threadId,
    agent_version: document.agentVersion,
    prompt_hash: document.promptHash,
    contract: { goal: contract.goal, definition_of_done: contract.definitionOfDone },
    plan: document.plan,
    cursor: document.cursor,
    completed: document.completed.map(step),
    side_effects: document.sideEffects.map((row) => ({
      ...step(row),
      replay_class: row.replayClass,
      input: row.input,
      idempotency_key: row.idempotencyKey,
    })),
    memory: document.memory,
    messages: document.messages,
    pending_calls: document.pendingCalls.map(({ tool, replayClass, attempt, since, ...row }) => ({
      ...row,
      tool_name: tool,
      replay_class: replayClass,
      attempts: attempt,
      since: iso(since),
    })),
    decisions: document.decisions.map(({ item, at, ...row }) => ({
      item_id: item,
      ...row,
      at: iso(at),
    })),
    budget: {
      tokens_in: budget.tokensIn,
      tokens_out: budget.tokensOut,
      usd: budget.usd,
      calls: budget.calls,
    },
    waiting_for: waitingJson(document.waitingFor),
  }
}
