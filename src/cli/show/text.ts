// Text for a terminal: cleaned of what could move the cursor, cut to a width, times as people say
// them.
import { isAbsolute, relative as wayTo } from 'node:path'
import { iso } from '../../client/wire/iso.ts'

// Titles and inputs come from models and strangers: a control character could rewrite what an
// operator sees, and a change of direction could reverse it.
const unprintable = /[\p{Cc}\p{Cs}\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu

/** The text on one line, with anything that is not printable spelled out. */
export function clean(text: string): string {
  return text
    .replaceAll(/\r?\n|\t/g, ' ')
    .replaceAll(unprintable, (char) => `\\u${hex(char.charCodeAt(0))}`)
}

function hex(code: number): string {
  return code.toString(16).padStart(4, '0')
}

const segments = new Intl.Segmenter('en', { granularity: 'grapheme' })
const scripts = ['Han', 'Hiragana', 'Katakana', 'Hangul'].map((name) => `\\p{Script=${name}}`)
const wide = new RegExp(
  `^[${scripts.join('')}\\p{Emoji_Presentation}\\u3000-\\u303f\\uff01-\\uff60]`,
  'u',
)
const halfWidth = /^[\uff61-\uffdc]/

/** How many columns a terminal needs for it. */
export function widthOf(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length
  let width = 0
  for (const { segment } of segments.segment(text)) {
    width += wide.test(segment) && !halfWidth.test(segment) ? 2 : 1
  }
  return width
}

// More code units than any text of a column that is worth its room: what lies beyond them need not
// be looked at. A value of megabytes that is to be cut to a line would else be taken apart as a
// whole.
const unitsPerColumn = 32

/** Whether it needs no more columns than these. */
export function fits(text: string, width: number): boolean {
  return text.length <= width * unitsPerColumn && widthOf(text) <= width
}

/** One after the other: whoever has enough asks for no more. */
function* partsOf(text: string): Generator<string> {
  for (const { segment } of segments.segment(text)) yield segment
}

/** Cut to `width` columns; an id keeps its two ends, a sentence its beginning. */
export function clip(text: string, width: number, keep: 'ends' | 'start' = 'start'): string {
  if (fits(text, width)) return text
  if (width <= 1) return '…'.slice(0, width)
  const room = width * unitsPerColumn
  const start = partsOf(text.slice(0, room))
  if (keep === 'start') return `${take(start, width - 1)}…`
  const head = Math.ceil((width - 1) / 2)
  const end = [...partsOf(text.slice(-room))].reverse()
  return `${take(start, head)}…${take(end, width - 1 - head, true)}`
}

function take(parts: Iterable<string>, width: number, backwards = false): string {
  let taken = ''
  for (const part of parts) {
    if (widthOf(taken) + widthOf(part) > width) break
    taken = backwards ? part + taken : taken + part
  }
  return taken
}

/** Lines of at most `width` columns, broken between words where there are any. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = []
  let line = ''
  for (let word of text.split(' ')) {
    if (line !== '' && (!fits(word, width) || widthOf(line) + 1 + widthOf(word) > width)) {
      lines.push(line)
      line = ''
    }
    while (line === '' && !fits(word, width)) {
      const start = word.slice(0, width * unitsPerColumn)
      // Never nothing, or there would be no end to it.
      const head = take(partsOf(start), width) || (partsOf(start).next().value ?? start)
      lines.push(head)
      word = word.slice(head.length)
    }
    line = line === '' ? word : `${line} ${word}`
  }
  return [...lines, line]
}

const units: readonly (readonly [string, number])[] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
]

/** `40 s`, `3 min`, `2 h`, `5 d`. */
export function duration(ms: number): string {
  const [unit, size] = units.find(([, least]) => ms >= least) ?? ['s', 1_000]
  return `${Math.floor(ms / size)} ${unit}`
}

/** `3 min ago` or `in 40 s`. */
export function relative(at: number, now: number): string {
  if (at > now) return `in ${duration(at - now + 999)}`
  return now - at < 1_000 ? 'just now' : `${duration(now - at)} ago`
}

/** For people: the time itself, and how far away it is. */
export function when(at: number, now: number): string {
  return `${iso(at)} (${relative(at, now)})`
}

/** A path as one would write it here. */
export function nearPath(path: string): string {
  const way = wayTo(process.cwd(), path)
  return way.startsWith('..') || isAbsolute(way) ? path : way
}

/** As a word of a POSIX shell. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}

/** `12 B`, `3.4 KB`, `120 MB`. */
export function bytes(count: number): string {
  const names = ['B', 'KB', 'MB', 'GB', 'TB']
  let size = count
  let unit = 0
  while (size >= 1_000 && unit < names.length - 1) {
    size /= 1_000
    unit++
  }
  const digits = unit > 0 && size < 10 ? size.toFixed(1) : `${Math.round(size)}`
  return `${digits} ${names[unit]}`
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`
}
