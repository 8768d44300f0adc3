// Reads JSON from outside. A key that occurs twice, `__proto__`, and what is nested too deep are
// refused before anything is made of them: two readers of such a text may see two things.

import { type CounterfoilError, errorFor } from '../../model/errors.ts'
import { decodeUtf8, readBytes } from '../../model/json/body.ts'
import * as limits from './limits.ts'

export { readBytes }

export function parseJson(text: string): unknown {
  scan(text)
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw invalid('the body is not JSON', cause)
  }
}

interface Level {
  /** Null in a list. */
  readonly keys: Set<string> | null
}

const token = /"(?:[^"\\]|\\.)*"|[{}[\],:]/gs
const forbidden = ['__proto__']

/** Of a text that is no JSON it may say anything, or nothing: the parser says that. */
function scan(text: string): void {
  const levels: Level[] = []
  let values = 0
  let last: string | null = null
  for (const [found] of text.matchAll(token)) {
    const [first] = found
    if (first === '{' || first === '[') {
      if (levels.push({ keys: first === '{' ? new Set() : null }) > limits.jsonDepthMax) {
        throw invalid(`it is nested deeper than ${limits.jsonDepthMax}`)
      }
    } else if (first === '}' || first === ']') levels.pop()
    else if (first === ':' && last !== null) addKey(levels.at(-1)?.keys, last)
    else if (first === ',' && ++values > limits.jsonValuesMax) {
      throw invalid(`it has more than ${limits.jsonValuesMax} values`)
    }
    last = first === '"' ? found : null
  }
}

function addKey(keys: Set<string> | null | undefined, quoted: string): void {
  if (!keys) return
  let key: string
  try {
    key = JSON.parse(quoted)
  } catch {
    return
  }
  if (forbidden.includes(key)) throw invalid(`the key ${key} is not allowed`)
  if (keys.has(key)) throw invalid(`the key ${JSON.stringify(key.slice(0, 64))} occurs twice`)
  keys.add(key)
}

function invalid(why: string, cause?: unknown): CounterfoilError {
  return errorFor('JSON_INVALID', why, cause)
}

export function textOf(bytes: Uint8Array): string {
  try {
    return decodeUtf8(bytes)
  } catch (cause) {
    throw invalid('the body is not UTF-8', cause)
  }
}
