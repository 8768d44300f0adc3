// A table that fits: columns that may shrink do, first those that were declared to; nothing wraps.
import Table from 'cli-table3'
import { clean, clip, widthOf } from './text.ts'

export interface Column {
  readonly head: string
  /** Who gives way first when it is too wide: 1 before 2. Without it, only when all else is at its least. */
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
const empty = {
  ...{ top: '', 'top-mid': '', 'top-left': '', 'top-right': '' },
  ...{ bottom: '', 'bottom-mid': '', 'bottom-left': '', 'bottom-right': '' },
  ...{ left: '', 'left-mid': '', mid: '', 'mid-mid': '', right: '', 'right-mid': '', middle: '' },
}

export function renderTable(
  columns: readonly Column[],
  rows: readonly (readonly (Cell | string)[])[],
  options: { width: number; paintHead?: (text: string) => string },
): string[] {
  const cells = rows.map((row) => row.map(cellOf))
  const widths = widthsFor(columns, cells, options.width)
  const cut = (text: string, index: number) =>
    clip(text, widths[index] ?? 0, columns[index]?.keep ?? 'start')
  const paintHead = options.paintHead ?? ((text) => text)
  const table = new Table({
    chars: empty,
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
    colWidths: widths.map((width, index) => (index < widths.length - 1 ? width + gap : width)),
  })
  table.push(columns.map(({ head }, index) => paintHead(cut(head, index))))
  for (const row of cells) {
    table.push(
      row.map(({ text, paint }, index) => {
        const shown = cut(text, index)
        return paint ? paint(shown) : shown
      }),
    )
  }
  return table
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
}

function cellOf(cell: Cell | string): Cell {
  return typeof cell === 'string' ? { text: clean(cell) } : { ...cell, text: clean(cell.text) }
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
