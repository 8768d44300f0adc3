// What a tool says for the person who has to decide about one of its calls: where to look, and what
// a result looks like. A tool's own code is asked here, and nothing it does stops the parking: what
// is wrong with its answer is said on the item.
import { canonical } from '../../model/json/canonical.ts'
import * as limits from '../../model/limits.ts'
import type { AnswerForm, CallRecord, Look } from '../../model/run/records.ts'
import { isRecord } from '../../model/run/state.ts'
import { jsonSchemaOf } from '../../model/tool/schema.ts'
import { type LookInfo, mayLackResult, type Tool } from '../../model/tool/tool.ts'
import { sentName } from '../attempt/rows.ts'
import type { Visit } from '../visit/visit.ts'

/** Where to look for a call that may have been sent; null if its tool does not say. */
export function lookOf(
  visit: Visit,
  tool: Tool | undefined,
  record: CallRecord | null,
): { look?: Look } {
  const ask = tool?.rules.whereToLook
  if (!ask || record === null) return {}
  try {
    const input = JSON.parse(record.inputJson ?? 'null')
    return { look: readLook(ask(input, infoOf(visit, tool, record))) }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    return { look: { ...nowhere, fault: cut(`whereToLook threw: ${why}`) } }
  }
}

function infoOf(visit: Visit, tool: Tool, record: CallRecord): LookInfo {
  const { runId, node } = visit.run
  const { attempt, idempotencyKey } = record
  const attemptId = sentName(visit, record)
  return { runId, node, tool: tool.name, attempt, attemptId, idempotencyKey }
}

const unusable = 'whereToLook did not answer with { url, say }'

const nowhere = { url: null, say: null, fault: null } as const

function readLook(said: unknown): Look {
  if (said instanceof Promise) {
    said.catch(() => {}) // nobody waits for it
    return { ...nowhere, fault: 'whereToLook returned a promise, and it must answer at once' }
  }
  if (!isRecord(said)) return { ...nowhere, fault: unusable }
  const { url = null, say = null } = said
  const words = typeof say === 'string' && say !== '' ? cut(say) : null
  const link = typeof url === 'string' ? linkOf(url) : null
  if (url !== null && link === null) {
    return { url: null, say: words, fault: 'the link of the tool is not an http or https address' }
  }
  const fault = link === null && words === null ? unusable : null
  return { url: link, say: words, fault }
}

/** Only what a browser opens as a page: a tool's input may have been written by a model. */
function linkOf(text: string): string | null {
  if (text.length > limits.lookUrlLengthMax || !URL.canParse(text)) return null
  const url = new URL(text)
  return url.protocol === 'https:' || url.protocol === 'http:' ? url.href : null
}

function cut(text: string): string {
  const max = limits.lookSayLengthMax
  return text.length > max ? `${text.slice(0, max - 1)}…` : text
}

/** What "it happened" is answered with. */
export function answerFormOf({ rules }: Tool): AnswerForm {
  const { output, example = null } = rules
  const schema = output && (jsonSchemaOf(output, 'input')?.json ?? null)
  const optional = mayLackResult(rules)
  return { schema: fitting(schema), example: fitting(example), optional }
}

function fitting(value: unknown): unknown {
  try {
    return canonical(value).length > limits.answerLengthMax ? null : value
  } catch {
    return null // what a library tells is not always plain data
  }
}
