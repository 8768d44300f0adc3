// What takes longer than a second says what it is at, on a line of stderr that is taken back as
// soon as anything else is printed. Only for people: never with --json, never into a file.
import { systemClock } from '../clock.ts'
import { colorsFor } from './output.ts'
import { clean, clip, duration } from './show/text.ts'

export interface Progress {
  /** From now on; the line comes after a second. */
  begin(text: string): void
  /** What it is at by now. Cheap, so it may be said for every page and row. */
  say(text: string): void
  /** Takes the line back. It comes again with the next word, if the work goes on. */
  clear(): void
  end(): void
}

const patienceMs = 1_000
const betweenMs = 100

// To the first column, and the line is empty: it may have held more.
const blank = '\r\u001b[K'

export interface Line {
  readonly shown: boolean
  readonly columns: number
  write(text: string): void
}

export function stderrLine(json: boolean): Line {
  const { stderr } = process
  return {
    shown: !json && stderr.isTTY === true,
    columns: stderr.columns || 80,
    write: (text) => void stderr.write(text),
  }
}

export function createProgress(line: Line, clock = systemClock): Progress {
  return line.shown ? new LineProgress(line, clock) : silent
}

const silent: Progress = { begin: () => {}, say: () => {}, clear: () => {}, end: () => {} }

class LineProgress implements Progress {
  private readonly line: Line
  private readonly clock: typeof systemClock
  private text = ''
  private begun: number | null = null
  private drawnAt = Number.NEGATIVE_INFINITY
  private drawn = false
  private cancel = () => {}

  constructor(line: Line, clock: typeof systemClock) {
    this.line = line
    this.clock = clock
  }

  begin(text: string): void {
    this.end()
    this.begun = this.clock.mono()
    this.text = text
    this.beat()
  }

  say(text: string): void {
    this.text = text
    // Work that never leaves its turn gives timers no chance, so the line is drawn from here.
    if (this.clock.mono() - this.drawnAt >= betweenMs) this.draw()
  }

  clear(): void {
    if (this.drawn) this.line.write(blank)
    this.drawn = false
  }

  end(): void {
    this.cancel()
    this.clear()
    this.begun = null
  }

  private beat(): void {
    this.cancel = this.clock.after(patienceMs, () => {
      this.draw()
      this.beat()
    })
  }

  private draw(): void {
    const now = this.clock.mono()
    if (this.begun === null || now - this.begun < patienceMs) return
    // The time first: it shows that something moves, however long the text.
    const text = `${duration(now - this.begun)}  ${clean(this.text)}`
    const { dim } = colorsFor(process.stderr)
    this.line.write(`${blank}${dim(clip(text, this.line.columns - 1))}`)
    this.drawn = true
    this.drawnAt = now
  }
}
