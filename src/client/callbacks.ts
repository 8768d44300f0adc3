// What an upstream says about a call that was deferred to it. The token names the attempt; whoever
// has it may settle that attempt, once, and nothing else. It is written as evidence by attempt id,
// whoever holds the run (I2, I11): before the park, after it, after the deadline.

import { errorFor, type FailureData, failureOf } from '../model/errors.ts'
import { keptText, sha256 } from '../model/json/canonical.ts'
import * as limits from '../model/limits.ts'
import { applyEvidence } from '../model/replay/evidence.ts'
import { callKeyOfAttempt, visitOfAttempt } from '../model/run/attempt-id.ts'
import { type Attempt, bare, type Evidence, keyOf, type RunRef } from '../model/run/records.ts'
import { validate } from '../model/tool/schema.ts'
import type { Tool } from '../model/tool/tool.ts'
import type { Amendment, Loaded } from '../store/store.ts'
import type { ClientContext } from './run/run.ts'

/**
 * `settled`: the call ends by this. `repeated`: it said so before. `too_late`: the call had ended
 * otherwise, by itself or by a person's decision; where the two differ, an event says so.
 */
export type CallbackStatus = 'settled' | 'repeated' | 'too_late'

type Found = RunRef & { readonly attemptId: string }

export class Callbacks {
  private readonly client: ClientContext

  constructor(client: ClientContext) {
    this.client = client
  }

  /** The call has landed, with this result. */
  async settle(token: string, result?: unknown): Promise<{ status: CallbackStatus }> {
    const found = await this.find(token)
    const tool = await this.toolOf(found)
    const valid = await this.check(tool, result)
    const resultJson = valid === undefined ? null : keptText(valid)
    const externalId = tool ? externalIdOf(tool, valid) : null
    return this.say(found, { outcome: 'landed', resultJson, externalId, errorJson: null })
  }

  /** The upstream has refused it, or failed at it for certain: it did not happen. */
  async fail(token: string, error: Error | string): Promise<{ status: CallbackStatus }> {
    const found = await this.find(token)
    const failure: FailureData = failureOf(error, 'refused')
    const errorJson = JSON.stringify(failure)
    return this.say(found, { outcome: 'refused', resultJson: null, externalId: null, errorJson })
  }

  /** It is still at work: puts the tool's `heartbeatMs` off, and people see the details. */
  async heartbeat(token: string, details: unknown = null): Promise<void> {
    const found = await this.find(token)
    const beatJson = keptText(details)
    if (beatJson.length > limits.beatLengthMax) {
      const message = `the details of a heartbeat have more than ${limits.beatLengthMax} characters`
      throw errorFor('INPUT_INVALID', message)
    }
    const beatAt = this.client.clock.now()
    await this.amend(found, ({ attempts }) => {
      const attempt = attempts.find((row) => row.attemptId === found.attemptId)
      const row = attempt && { ...(bare(attempt) as Attempt), beatAt, beatJson }
      return { changes: row ? { attempts: [row] } : null, value: null }
    })
  }

  private async find(token: string): Promise<Found> {
    const { store, namespace } = this.client
    const usable = typeof token === 'string' && token.length > 0 && token.length < 200
    const found = usable ? await store.findAttempt(sha256(token)) : null
    // Another namespace's token answers as one that does not exist.
    if (found && found.namespace === namespace) return found
    throw errorFor('CALLBACK_UNKNOWN')
  }

  private async toolOf(found: Found): Promise<Tool | null> {
    const { store, graphs } = this.client
    const run = await store.getRun(found)
    const graph = graphs.get(`${run?.graph}@${run?.version}`)
    const key = callKeyOfAttempt(found.attemptId)
    return graph?.tools.get(key.slice(0, key.indexOf('/'))) ?? null
  }

  /** Where the graph is at hand, its schema is asked: what does not fit is refused here. */
  private async check(tool: Tool | null, result: unknown): Promise<unknown> {
    const output = tool?.rules.output
    if (!output) return result
    return validate(output, result, { code: 'OUTPUT_INVALID', subject: `result of ${tool?.name}` })
  }

  private async say(
    found: Found,
    said: Pick<Evidence, 'outcome' | 'resultJson' | 'externalId' | 'errorJson'>,
  ): Promise<{ status: CallbackStatus }> {
    const { namespace, runId, attemptId } = found
    const at = this.client.clock.now()
    const evidence: Evidence = {
      namespace,
      runId,
      attemptId,
      ...said,
      resultDigest: null,
      at,
      seq: null,
    }
    const status = await this.amend(found, (now) => settling(now, evidence))
    return { status }
  }

  private amend<T>(found: Found, change: (now: Loaded) => Amendment<T>): Promise<T> {
    const { visit } = visitOfAttempt(found.attemptId)
    return this.client.store.amend(found, 'evidence', change, { visit })
  }
}

function settling(now: Loaded, evidence: Evidence): Amendment<CallbackStatus> {
  const old = now.evidence.find((row) => row.attemptId === evidence.attemptId)
  if (old) {
    const same = old.outcome === evidence.outcome && old.resultJson === evidence.resultJson
    if (same) return { changes: null, value: 'repeated' }
  }
  const key = callKeyOfAttempt(evidence.attemptId)
  const record = now.records.find((row) => keyOf(row) === key)
  const final = record?.status === 'committed' || record?.status === 'failed'
  if (final && !old && record.resultJson === evidence.resultJson && evidence.outcome === 'landed') {
    return { changes: null, value: 'repeated' }
  }
  const changes = applyEvidence(now, evidence, 'upstream')
  if (changes === null) return { changes: null, value: 'too_late' }
  if (old) return { changes: { events: changes.events }, value: 'too_late' }
  return { changes, value: changes.evidence.length > 0 ? 'settled' : 'too_late' }
}

function externalIdOf(tool: Tool, value: unknown): string | null {
  try {
    const id = tool.rules.externalId?.(value)
    return typeof id === 'string' ? id : null
  } catch {
    return null
  }
}
