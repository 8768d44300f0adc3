// Owns: the file that a programme goes on from: one line for each thing that was done, synced
// before the next is begun.
// Does not own: what is done.
// Invariants: a line that was cut short by a kill is the last one, and is done again. Whatever the
// plan was when the programme began stays the plan: places of faults move between executions.
import {
  closeSync,
  existsSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readFileSync,
  writeSync,
} from 'node:fs'
import type { Control, Outcome, Size } from './layer.ts'

export interface Heading {
  size: Size
  seed: number
  commit: string
  node: string
  startedAt: string
}

export type Line =
  | { heading: Heading }
  /** What follows was done at this commit, and not at the one before. */
  | { commit: string }
  | { layer: string; plan: string[] }
  | { layer: string; missing: string }
  | { layer: string; name: string; outcome: Outcome; ms: number }
  | { layer: string; controls: Control[] }

export interface LayerState {
  plan: string[] | null
  /** Why it could not be run the last time; null if it was run since. */
  missing: string | null
  done: Map<string, Outcome & { ms: number; commit: string }>
  controls: Control[] | null
}

/** The lines of a file, or an error that says which of them is none of a programme. */
function linesOf(path: string, whole: string): Line[] {
  return whole
    .replace(/\n$/, '')
    .split('\n')
    .map((text, i) => {
      const line = parsed(text)
      if (i === 0 ? isHeading(line) : isStep(line)) return line as Line
      const what = i === 0 ? 'the heading' : 'a line'
      throw new Error(`${path}, line ${i + 1}: this is not ${what} of a programme's progress`)
    })
}

function parsed(text: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(text))
  } catch {
    return {}
  }
}

function isHeading({ heading }: Record<string, unknown>): boolean {
  const { size, seed, commit } = Object(heading)
  const isSize = ['test', 'small', 'full'].includes(size)
  return isSize && Number.isSafeInteger(seed) && seed >= 1 && typeof commit === 'string'
}

function isStep(line: Record<string, unknown>): boolean {
  if (typeof line['commit'] === 'string') return true
  if (typeof line['layer'] !== 'string') return false
  if (typeof line['missing'] === 'string') return true
  if (Array.isArray(line['plan']) || Array.isArray(line['controls'])) return true
  return typeof line['name'] === 'string' && Array.isArray(Object(line['outcome']).wrong)
}

export class Progress {
  readonly layers = new Map<string, LayerState>()
  heading: Heading | null = null
  /** The commits at which something was done or begun, in their order. */
  readonly commits: string[] = []
  private readonly fd: number

  constructor(path: string) {
    const isThere = existsSync(path)
    const text = isThere ? readFileSync(path, 'utf8') : ''
    const whole = text.slice(0, text.lastIndexOf('\n') + 1)
    // All of it is read before anything is cut off: it may be somebody's other file.
    if (isThere) for (const line of linesOf(path, whole)) this.take(line)
    this.fd = openSync(path, isThere ? 'r+' : 'w+')
    if (whole !== text) ftruncateSync(this.fd, Buffer.byteLength(whole))
    this.at = Buffer.byteLength(whole)
  }

  private at: number

  of(layer: string): LayerState {
    const known = this.layers.get(layer)
    if (known) return known
    const made = { plan: null, missing: null, done: new Map(), controls: null }
    this.layers.set(layer, made)
    return made
  }

  write(line: Line): void {
    this.at += writeSync(this.fd, `${JSON.stringify(line)}\n`, this.at)
    fsyncSync(this.fd)
    this.take(line)
  }

  close(): void {
    closeSync(this.fd)
  }

  private take(line: Line): void {
    if ('heading' in line) {
      this.heading = line.heading
      this.commits.push(line.heading.commit)
      return
    }
    if ('commit' in line) {
      this.commits.push(line.commit)
      return
    }
    const layer = this.of(line.layer)
    // Whatever is done of it was possible: what was missing is there now.
    layer.missing = 'missing' in line ? line.missing : null
    if ('plan' in line) layer.plan = line.plan
    else if ('controls' in line) layer.controls = line.controls
    else if ('name' in line) {
      const commit = this.commits.at(-1) ?? 'unknown'
      layer.done.set(line.name, { ...line.outcome, ms: line.ms, commit })
    }
  }
}
