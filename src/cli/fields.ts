// `name      text`, the text wrapped under itself; JSON as it reads best.
import type { Cli } from './cli.ts'
import { clean, clip, wrap } from './text.ts'

export const fieldIndent = 11
const jsonLineMax = 20

export interface FieldOptions {
  /** Columns before the name. */
  readonly margin?: number
  /** Lines of JSON before it is cut; all of them with Infinity. */
  readonly lineMax?: number
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
  { margin = 0, lineMax = jsonLineMax }: FieldOptions = {},
): string[] {
  const width = cli.out.width - fieldIndent - margin
  const short = JSON.stringify(value ?? null)
  const whole = lineMax === Number.POSITIVE_INFINITY
  const text = short.length <= width ? short : JSON.stringify(value, null, 2)
  const lines = text.split('\n').map((line) => (whole ? clean(line) : clip(clean(line), width)))
  const cut = lines.length > lineMax || (!whole && lines.some((line) => line.endsWith('…')))
  const shown = lines.length > lineMax ? [...lines.slice(0, lineMax), '…'] : lines
  return labelled(cli, name, cut ? [...shown, '(cut; --json shows all of it)'] : shown, margin)
}

function labelled(cli: Cli, name: string, lines: readonly string[], margin: number): string[] {
  const { dim } = cli.out.colors
  const label = (index: number) => dim((index === 0 ? name : '').padEnd(fieldIndent))
  return lines.map((line, index) => `${' '.repeat(margin)}${label(index)}${line}`.trimEnd())
}
