// The envelope around everything that is kept of a thread: { v, sum, body }. It says how the body
// is to be read, whatever the host's library has become since, and whether it is what was written.
// Rows of every format ever written can be read for ever: test/replay/langgraph holds them.
import { CounterfoilError, errorFor } from '../../../model/errors.ts'
import { sha256 } from '../../../model/json/canonical.ts'

const envelopeVersion = 1

export interface Opened {
  readonly body: Readonly<Record<string, unknown>>
  /** Of the text of the body; it is also the name of what it says. */
  readonly sum: string
}

/** `body` is the text of a JSON object. */
export function seal(body: string): { text: string; sum: string } {
  const sum = sumOf(body)
  return { text: `{"v":${envelopeVersion},"sum":"${sum}","body":${body}}`, sum }
}

/** 132 bits of the hash. */
export function sumOf(text: string): string {
  return sha256(text, 'base64url').slice(0, 22)
}

// Of its head, so that the text of the body is there as it was written, and summed up as such.
const head = /^\{"v":1,"sum":"([\w-]{22})","body":/

/** `what` names the row in the error of one that cannot be read. */
export function open(text: string, what: string): Opened {
  const version = Number(/^\{"v":(\d+)[,}]/.exec(text)?.[1] ?? Number.NaN)
  if (version > envelopeVersion) throw newer(what, version)
  const found = head.exec(text)
  const sum = found?.[1] ?? damaged(what, 'it has no envelope')
  const body = text.slice(found?.[0].length, -1)
  if (sum !== sumOf(body)) damaged(what, 'its sum does not fit its content')
  try {
    return { sum, body: JSON.parse(body) as Opened['body'] }
  } catch (error) {
    return damaged(what, 'it is no JSON', error)
  }
}

/** Runs what reads a row; whatever it stumbles over is damage. */
export function reading<T>(what: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof CounterfoilError && error.code.startsWith('THREAD_')) throw error
    return damaged(what, error instanceof Error ? error.message : String(error), error)
  }
}

export function damaged(what: string, why: string, cause?: unknown): never {
  throw errorFor('THREAD_DAMAGED', what, why, cause)
}

function newer(what: string, version: number): CounterfoilError {
  const form = { name: 'envelope', version, known: envelopeVersion }
  return errorFor('THREAD_NEWER', what, form, 'changed')
}
