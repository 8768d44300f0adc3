// What both stories share: the folder, the children, the clock on the wall, and the words on the
// screen.
import { mkdirSync, mkdtempSync, readdirSync, realpathSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { systemClock } from '../../clock.ts'
import { errorFor } from '../../model/errors.ts'
import type { Cli } from '../cli.ts'
import { clean, clip, wrap } from '../show/text.ts'
import { type Child, Children, type Exit } from './children.ts'

const margin = 10

export class Stage {
  readonly cli: Cli
  readonly auto: boolean
  readonly folder: string
  readonly children = new Children()
  private readonly startedMs = systemClock.mono()

  constructor(cli: Cli, options: { auto: boolean; data: string | undefined }) {
    this.cli = cli
    this.auto = options.auto
    this.folder = options.data === undefined ? freshFolder() : usableFolder(options.data)
  }

  get tookMs(): number {
    return Math.round(systemClock.mono() - this.startedMs)
  }

  /** A folder of its own for each story. */
  subfolder(name: string): string {
    const folder = join(this.folder, name)
    mkdirSync(folder)
    return folder
  }

  title(text: string, about: string): void {
    const { colors } = this.cli.out
    this.cli.out.text('', `${colors.bold(text)}  ${colors.dim(about)}`)
  }

  /** Something happened now. */
  say(text: string): void {
    const { colors, width } = this.cli.out
    const time = `${(this.tookMs / 1_000).toFixed(1)} s`.padStart(margin - 2)
    const [first = '', ...rest] = wrap(clean(text), width - margin)
    this.cli.out.text(`${colors.dim(time)}  ${first}`, ...rest.map(indented))
  }

  /** More about what was said last: a heading, and names with what they stand for. */
  note(heading: string, rows: readonly (readonly [name: string, text: string])[]): void {
    const { colors, width } = this.cli.out
    const nameWidth = 11
    const lines = rows.map(([name, text]) => {
      const shown = clip(clean(text), width - margin - nameWidth)
      return indented(`${colors.dim(name.padEnd(nameWidth))}${shown}`)
    })
    this.cli.out.text(
      '',
      indented(colors.yellow(clip(clean(heading), width - margin))),
      ...lines,
      '',
    )
  }
}

function indented(text: string): string {
  return `${' '.repeat(margin)}${text}`
}

function freshFolder(): string {
  return realpathSync(mkdtempSync(join(tmpdir(), 'counterfoil-demo-')))
}

function usableFolder(given: string): string {
  const folder = resolve(given)
  mkdirSync(folder, { recursive: true })
  if (readdirSync(folder).length === 0) return realpathSync(folder)
  throw errorFor('DEMO_FOLDER_USED', folder, 'the demo counts what it finds in its folder')
}

/** The demo shows what it says, or it fails. */
export function must(holds: boolean, what: string): asserts holds {
  if (holds) return
  throw errorFor('DEMO_FAILED', `a step of the demo did not happen as expected: ${what}`)
}

/** Waits, but not for ever. */
export async function within<T>(ms: number, what: string, work: Promise<T>): Promise<T> {
  let cancel = () => {}
  const late = new Promise<never>((_, reject) => {
    const error = errorFor('DEMO_FAILED', `${what} took longer than ${ms} ms`)
    cancel = systemClock.after(ms, () => reject(error))
  })
  try {
    return await Promise.race([work, late])
  } finally {
    cancel()
  }
}

export async function startMailServer(stage: Stage, folder: string): Promise<Child> {
  const server = stage.children.spawn('mail-server', folder)
  await server.next('listening')
  return server
}

/** The moment both stories are about: taken by the mail server, not yet known to the sender. */
export async function killAfterAccept(
  stage: Stage,
  server: Child,
  sender: Child,
): Promise<{ exit: Exit; messageId: string; atMs: number }> {
  const { messageId } = await server.next('accepted')
  const atMs = systemClock.now()
  const exit = await sender.kill()
  stage.say(`the mail server takes the e-mail (${messageId}); its answer is slow`)
  stage.say(`kill -9 ${sender.pid}: ended by ${exit.signal ?? `exit code ${exit.code}`}`)
  must(exit.signal === 'SIGKILL', `worker ${sender.pid} was not ended by SIGKILL`)
  return { exit, messageId, atMs }
}
