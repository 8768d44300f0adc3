// Errors about one run: its id, its state, its checkpoints, what it is sent.
import * as limits from '../limits.ts'
import { inWords, type Wordings } from './said.ts'

export const runErrors = {
  RUN_NOT_FOUND: (runId: string, namespace?: string) => ({
    message: `there is no run ${runId}`,
    details: { runId, ...(namespace !== undefined && { namespace }) },
  }),
  RUN_EXISTS: (runId: string, how: string) => ({
    message:
      `run ${runId} exists already, ${how}: the same id means the same work; ` +
      'choose another id',
    details: { runId },
  }),
  RUN_ID_INVALID: (runId: unknown) => ({
    message:
      `run id ${JSON.stringify(runId)} is not usable: 1 to ${limits.runIdLengthMax} characters, ` +
      'none of them a control character',
  }),
  /** `state`: the one it has, or is about to have. */
  RUN_ENDED: ({ runId, state }: { runId: string; state: string }, why: string) => ({
    message: `run ${runId} is ${state}: ${why}`,
    details: { runId, state },
  }),
  RUN_PAUSED: (runId: string) => ({
    message: `run ${runId} is paused: resume it, then open the scope again`,
    details: { runId },
  }),
  RUN_NOT_PAUSED: (runId: string, items: readonly string[] | undefined) => ({
    message:
      `run ${runId} is not paused: it waits for a person to decide ` +
      `${items?.join(', ') ?? 'an item'}`,
    details: { runId, items: items ?? [] },
  }),
  RUN_NOT_FAILED: (runId: string, state: string) => ({
    message: `run ${runId} is ${state}: only a failed run can be retried`,
    details: { runId, state },
  }),
  RUN_CANCELLED: (runId: string) => ({
    message: `run ${runId} was cancelled`,
    details: { runId },
  }),
  /** `step`: of a foreign runtime's run, whose other steps can go on. */
  RUN_ABANDONED: ({ by, why }: { by: string; why: string }, step?: { workflowId: string }) => ({
    message:
      step === undefined
        ? `abandoned by ${by}: ${why}`
        : `this step of ${step.workflowId} was abandoned by ${by}: ${why}; later steps can go on`,
    details: { by, ...step },
  }),
  RETRY_INVALID: inWords,
  NODE_FAILED: (message: string, details: unknown) => ({ message, details: { details } }),
  NODE_ENDED: (tool: string, { node, runId }: { node: string; runId: string }) => ({
    message:
      `${tool} was called after node ${node} of run ${runId} had ended; ` +
      'await every branch before the node returns',
    details: { tool, node, runId },
  }),
  STATE_INVALID: inWords,
  TRANSITION_ILLEGAL: (
    runId: string,
    { from, to }: { from: string; to: string },
    allowed: readonly string[],
  ) => ({
    message:
      `run ${runId} cannot go from ${from} to ${to}; ` +
      `allowed from here: ${allowed.join(', ') || 'none: it has ended'}`,
    details: { runId, from, to },
  }),
  CHILD_UNNAMED: () => ({
    message:
      'the child has no id: its input is not valid, or its schema has not answered yet; ' +
      'await the child first, or use a schema that validates synchronously',
  }),
  SIGNAL_INVALID: (what: string) => ({ message: `signal: ${what}` }),
  SIGNAL_EXISTS: (runId: string, id: string) => ({
    message:
      `signal ${id} was sent to run ${runId} before, with another name or other data: ` +
      'the same id means the same signal; choose another id',
    details: { runId, id },
  }),
  PIN_REFUSED: (runId: string, why: string) => ({
    message: `run ${runId}: nothing was pinned: ${why}`,
    details: { runId },
  }),
  /** `there`: what there is instead. */
  CHECKPOINT_NOT_FOUND: (runId: string, there: string, at: { visit?: number } = {}) => ({
    message:
      `run ${runId} has no checkpoint${at.visit === undefined ? '' : ` of visit ${at.visit}`}; ` +
      there,
    details: { runId, ...at },
  }),
  CHECKPOINT_DAMAGED: inWords,
  CHECKPOINT_NEWER: (
    row: { runId: string; visit: number; schemaVersion: number },
    known: number,
  ) => ({
    message:
      `run ${row.runId}: the checkpoint of visit ${row.visit} has format ${row.schemaVersion}, ` +
      `and this Counterfoil knows formats up to ${known}: upgrade it`,
    details: { runId: row.runId, visit: row.visit, schemaVersion: row.schemaVersion },
  }),
  SCOPE_INVALID: (what: string) => ({ message: `scope: ${what}` }),
  SCOPE_CLOSED: (workflowId: string) => ({
    message: `the scope of ${workflowId} was closed`,
    details: { workflowId },
  }),
  SCOPE_LOST: (workflowId: string) => ({
    message:
      `the hold on ${workflowId} is lost: another process may work on it now; ` +
      'open the scope again',
    retryable: true,
    details: { workflowId },
  }),
} as const satisfies Wordings
