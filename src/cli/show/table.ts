// A table that fits: columns that may shrink do, first those that were declared to; nothing wraps.
import { clean, clip, widthOf } from './text.ts'

export interface Column {
  readonly head: string
  /** Who gives way first when it is too wide: 1 before 2; without it, last. */
  readonly yields?: number
  /** An id keeps its two ends, other text its beginning. */
  readonly keep?: 'ends' | 'start'
  readonly least?: number
}

export interface Cell {
  readonly text: string
  readonly paint?: (text: string) => string
}

const gap = 2

export function renderTable(
  columns: readonly Column[],
  rows: readonly (readonly (Cell | string)[])[],
  options: { width: number; paintHead?: (text: string) => string },
): string[] {
  const cells = rows.map((row) => row.map((cell) => cellOf(cell, options.width)))
  const widths = widthsFor(columns, cells, options.width)
  const cut = (text: string, index: number) =>
    clip(text, widths[index] ?? 0, columns[index]?.keep ?? 'start')
  const paintHead = options.paintHead ?? ((text: string) => text)
  const line = (row: readonly Cell[]) =>
    row
      .map(({ text, paint }, index) => {
        const shown = cut(text, index)
        const blank = ' '.repeat((widths[index] ?? 0) - widthOf(shown))
        return `${paint ? paint(shown) : shown}${blank}`
      })
      .join(' '.repeat(gap))
      .trimEnd()
  return [line(columns.map(({ head }) => ({ text: head, paint: paintHead }))), ...cells.map(line)]
}

/** No cell needs more than the whole width: a value of megabytes is not to be measured. */
function cellOf(cell: Cell | string, width: number): Cell {
  const { text, ...rest } = typeof cell === 'string' ? { text: cell } : cell
  return { ...rest, text: firstColumns(clean(text), width) }
}

function firstColumns(text: string, width: number): string {
  return text.length <= width * 4 ? text : clip(text, width * 2)
}

function widthsFor(
  columns: readonly Column[],
  rows: readonly (readonly Cell[])[],
  width: number,
): number[] {
  const widths = columns.map(({ head }, index) =>
    Math.max(widthOf(head), ...rows.map((row) => widthOf(row[index]?.text ?? ''))),
  )
  const order = columns
    .map((column, index) => ({ index, turn: column.yields ?? 99, least: column.least ?? 8 }))
    .sort((a, b) => a.turn - b.turn)
  // The second round is for terminals too narrow for any table: better cut than wrapped.
  for (const floor of [null, 1]) {
    for (const { index, least } of order) {
      const over = widths.reduce((sum, one) => sum + one, 0) + gap * (columns.length - 1) - width
      if (over <= 0) return widths
      const now = widths[index] ?? 0
      widths[index] = Math.max(Math.min(now, floor ?? least), now - over)
    }
  }
  return widths
}
