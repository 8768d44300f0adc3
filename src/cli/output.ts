// Where a command's words go: text for people, or one JSON document for programs, never both.
import pc from 'picocolors'

export type Colors = ReturnType<typeof pc.createColors>

export interface Output {
  readonly json: boolean
  /** Columns to fill: the terminal's, or 80 where there is none. */
  readonly width: number
  readonly colors: Colors
  /** Lines for people; nothing with --json. */
  text(...lines: string[]): void
  /** The one document; nothing without --json. */
  data(document: unknown): void
  /** One of many documents, a line each, for commands that go on; nothing without --json. */
  line(document: unknown): void
}

const pipedWidth = 80
const leastWidth = 20

/** `before` is called before anything is printed: a line of progress has to go first. */
export function createOutput(json: boolean, before: () => void = () => {}): Output {
  const { stdout } = process
  const width = stdout.isTTY ? Math.max(leastWidth, stdout.columns || pipedWidth) : pipedWidth
  return {
    json,
    width,
    colors: colorsFor(stdout),
    text: (...lines) => {
      before()
      if (!json) stdout.write(`${lines.join('\n')}\n`)
    },
    data: (document) => {
      if (json) stdout.write(`${JSON.stringify(document, null, 2)}\n`)
    },
    line: (document) => {
      if (json) stdout.write(`${JSON.stringify(document)}\n`)
    },
  }
}

// Not picocolors' own guess, which colours pipes when CI is set and everything on Windows.
export function colorsFor(stream: NodeJS.WriteStream): Colors {
  const { NO_COLOR, TERM } = process.env
  const plain = (NO_COLOR ?? '') !== '' || TERM === 'dumb'
  return pc.createColors(stream.isTTY === true && !plain)
}

/** A warning for people, beside whatever the command prints. */
export function warn(message: string): void {
  process.stderr.write(`${colorsFor(process.stderr).yellow('warning:')} ${message}\n`)
}
