// Times, durations and counts, in words.

const units: readonly (readonly [name: string, ms: number])[] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
]

/** `2 h 5 min`, `12 min`: the two largest units, or one where the other would say nothing. */
export function duration(ms: number, exact = false): string {
  const whole = Math.max(0, ms)
  if (whole < 1_000) return whole === 0 ? '0 s' : `${Math.round(whole)} ms`
  const first = units.findIndex(([, size]) => whole >= size)
  const parts: string[] = []
  let rest = whole
  for (const [name, size] of units.slice(first, first + 2)) {
    const count = Math.floor(rest / size)
    rest -= count * size
    if (count > 0) parts.push(`${count} ${name}`)
    if (count >= 10 && !exact) break
  }
  return parts.join(' ')
}

/** `4 min ago`, `in 2 h`. */
export function relative(at: number, now: number): string {
  const away = at - now
  if (Math.abs(away) < 1_500) return 'now'
  return away < 0 ? `${duration(-away)} ago` : `in ${duration(away)}`
}

/** With date, time and zone. */
export function absolute(at: number): string {
  return new Date(at).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'long' })
}

export function clockTime(at: number): string {
  return new Date(at).toLocaleTimeString(undefined, { timeStyle: 'long' })
}

/** 24 hours, so that it is short and cannot be mistaken. */
export function hourMinute(at: number): string {
  const parts = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const
  return new Date(at).toLocaleTimeString(undefined, parts)
}

export function plural(count: number, word: string): string {
  return `${count.toLocaleString()} ${word}${count === 1 ? '' : 's'}`
}

/** `waiting_human` reads `waiting human`. */
export function spaced(word: string): string {
  return word.replaceAll('_', ' ')
}

export function json(value: unknown): string {
  return JSON.stringify(value, null, 2) ?? 'null'
}

/** In one line, cut. */
export function brief(value: unknown, lengthMax = 80): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
  const line = text.replaceAll(/\s+/g, ' ')
  return line.length > lengthMax ? `${line.slice(0, lengthMax - 1)}…` : line
}

export function bytes(count: number): string {
  if (count < 1_024) return `${count} B`
  return count < 1_048_576
    ? `${(count / 1_024).toFixed(1)} KiB`
    : `${(count / 1_048_576).toFixed(1)} MiB`
}

export function parseMs(iso: string): number {
  return Date.parse(iso)
}
