// What is wrong with a command line, in words that help to write a right one.
import { readFileSync } from 'node:fs'
import { type CounterfoilError, errorFor } from '../model/errors.ts'

const dayMs = 24 * 3_600_000

export function usageError(message: string): CounterfoilError {
  return errorFor('CLI_USAGE', message)
}

/** A whole number of at least 1, and at most `max`. */
export function wholeNumber(option: string, text: string, max = Number.MAX_SAFE_INTEGER): number {
  const number = /^\d+$/.test(text) ? Number(text) : Number.NaN
  if (number >= 1 && number <= max) return number
  const range = max === Number.MAX_SAFE_INTEGER ? 'of at least 1' : `between 1 and ${max}`
  throw usageError(`${option} takes a whole number ${range}, and got ${JSON.stringify(text)}`)
}

const units: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: dayMs,
}

/** A span of time with its unit: 500ms, 30s, 5m, 1h, 30d; a day at the most, unless told. */
export function milliseconds(option: string, text: string, maxMs = dayMs): number {
  const [, count = '', unit = ''] = /^(\d+)(ms|s|m|h|d)$/.exec(text) ?? []
  const size = units[unit]
  if (size !== undefined && Number(count) * size <= maxMs) return Number(count) * size
  throw usageError(`${option} takes a time like 30s or 5m, and got ${JSON.stringify(text)}`)
}

/** One of a fixed set of words; a near miss is named. */
export function oneOf<T extends string>(what: string, text: string, words: readonly T[]): T {
  const found = words.find((word) => word === text)
  if (found !== undefined) return found
  throw usageError(`${what} ${JSON.stringify(text)} is not known${suggestion(text, words)}`)
}

/** `; did you mean x?`, or the whole list when nothing is near. */
export function suggestion(text: string, words: readonly string[]): string {
  const near = nearest(text, words)
  return near === null ? `; choose ${words.join(', ')}` : `; did you mean ${near}?`
}

/** The word that is a few slips of the finger away, if there is one. */
export function nearest(text: string, words: readonly string[]): string | null {
  const given = text.toLowerCase()
  const ranked = words
    .map((word) => ({ word, slips: distance(given, word.toLowerCase()) }))
    .sort((a, b) => a.slips - b.slips)
  const [best] = ranked
  if (best && best.slips <= Math.max(1, Math.floor(best.word.length / 3))) return best.word
  const begins = words.filter((word) => word.toLowerCase().startsWith(given))
  return given.length >= 3 && begins.length === 1 ? (begins[0] ?? null) : null
}

/** Insertions, removals, exchanges and swaps of neighbours between two words. */
function distance(a: string, b: string): number {
  let before: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1]
      let least = Math.min(at(last, j) + 1, at(row, j - 1) + 1, at(last, j - 1) + (same ? 0 : 1))
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      if (swapped) least = Math.min(least, at(before, j - 2) + 1)
      row.push(least)
    }
    before = last
    last = row
  }
  return at(last, b.length)
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Number.POSITIVE_INFINITY
}

/** What is wrong with this JSON; undefined if nothing is. */
export function jsonFault(text: string): string | undefined {
  try {
    JSON.parse(text)
  } catch (error) {
    return `this is not JSON: ${(error as Error).message}`
  }
  return undefined
}

/**
 * JSON from the command line, where shells eat quotes; `@name` is the content of a file. `words`
 * are how it would be written right.
 */
export function parseJson(
  option: string,
  given: string,
  words = (json: string) => `${option} ${json}`,
): unknown {
  const text = given.startsWith('@') ? fileText(option, given.slice(1)) : given
  try {
    return JSON.parse(text)
  } catch (error) {
    const said = (error as Error).message
    const hint = text === given ? quotingHint(text, words) : `It was read from ${given.slice(1)}`
    throw errorFor('JSON_INVALID', `${option} is not valid JSON: ${said}. ${hint}`, error)
  }
}

function fileText(option: string, name: string): string {
  try {
    return readFileSync(name, 'utf8')
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const why = code === 'ENOENT' ? 'there is no such file' : message
    throw usageError(`${option} @${name}: ${why}; @ means: the JSON in this file`)
  }
}

function quotingHint(text: string, words: (json: string) => string): string {
  const example = words(`'{"id": "m1"}'`)
  const windows = words('"{\\"id\\": \\"m1\\"}"')
  const eaten = /^\s*[{[]/.test(text) && !text.includes('"') && /[a-z]/i.test(text)
  const bare = /^[\w .-]+$/.test(text) ? `A plain text needs quotes of its own: '"${text}"'. ` : ''
  const why = eaten ? 'The shell has removed the double quotes. ' : bare
  return `${why}Put it in single quotes: ${example} (in cmd.exe: ${windows})`
}
