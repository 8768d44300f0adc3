// `name      text`, the text wrapped under itself; JSON as it reads best.
import type { Cli } from '../cli.ts'
import { clean, clip, fits, wrap } from './text.ts'

export const fieldIndent = 11
const jsonLineMax = 20

export interface FieldOptions {
  /** Columns before the name. */
  readonly margin?: number
  /** Lines of JSON before it is cut. */
  readonly lineMax?: number
  /** Long lines are wrapped, and not cut. */
  readonly wrapped?: boolean
}

export function field(
  cli: Cli,
  name: string,
  text: string,
  { margin = 0 }: FieldOptions = {},
): string[] {
  const width = cli.out.width - fieldIndent - margin
  return labelled(cli, name, wrap(clean(text), width), margin)
}

export function jsonField(
  cli: Cli,
  name: string,
  value: unknown,
  { margin = 0, lineMax = jsonLineMax, wrapped = false }: FieldOptions = {},
): string[] {
  const width = cli.out.width - fieldIndent - margin
  const short = JSON.stringify(value ?? null)
  const text = fits(clean(short), width) ? short : JSON.stringify(value, null, 2)
  const lines = text.split('\n').map(clean)
  const shown = wrapped
    ? lines.flatMap((line) => wrapJson(line, width))
    : lines.map((line) => clip(line, width))
  const clipped = !wrapped && lines.some((line) => !fits(line, width))
  const cut = shown.length > lineMax
  const note = cut || clipped ? ['(cut; --json shows all of it)'] : []
  return labelled(cli, name, [...shown.slice(0, lineMax), ...note], margin)
}

/** Under its own indentation, which is not to be lost. */
function wrapJson(line: string, width: number): string[] {
  const margin = /^ */.exec(line)?.[0] ?? ''
  const room = Math.max(10, width - margin.length)
  return wrap(line.slice(margin.length), room).map((part) => `${margin}${part}`)
}

function labelled(cli: Cli, name: string, lines: readonly string[], margin: number): string[] {
  const { dim } = cli.out.colors
  const label = (index: number) => dim((index === 0 ? name : '').padEnd(fieldIndent))
  return lines.map((line, index) => `${' '.repeat(margin)}${label(index)}${line}`.trimEnd())
}
