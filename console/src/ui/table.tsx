// A table that becomes cards on a phone, and whose rows can be walked with j, k and enter.
import type { ComponentChildren } from 'preact'
import { Scroll } from './scroll.tsx'

export interface Column<T> {
  readonly head: string
  readonly cell: (row: T) => ComponentChildren
  readonly class?: string
}

interface Props<T> {
  readonly label: string
  readonly columns: readonly Column<T>[]
  readonly rows: readonly T[]
  readonly id: (row: T) => string
}

export function Table<T>({ label, columns, rows, id }: Props<T>) {
  return (
    <Scroll label={label}>
      <table class="rows">
        <caption class="hidden">{label}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.head} scope="col" class={column.class}>
                {column.head === '' ? <span class="hidden">Choose</span> : column.head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={id(row)} data-row={id(row)}>
              {columns.map((column) => (
                <td key={column.head} data-head={column.head} class={column.class}>
                  <div>{column.cell(row)}</div>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  )
}
