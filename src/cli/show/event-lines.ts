// Events of a run, for people.

import { iso } from '../../client/wire/iso.ts'
import type { Event } from '../../model/run/records.ts'
import type { Cli } from '../cli.ts'
import { renderTable } from './table.ts'
import { clean, clip } from './text.ts'

const visitMax = 1_000_000

export function eventTable(cli: Cli, rows: readonly Event[]): string[] {
  const { colors, width } = cli.out
  // A foreign runtime's visits are numbers that say nothing; a workflow has but one.
  const visits = new Set(rows.map((row) => row.visit))
  const numbered = visits.size > 1 && Math.max(...visits) <= visitMax
  const columns = [
    { head: 'AT', yields: 3, least: 12 },
    ...(numbered ? [{ head: 'VISIT' }] : []),
    { head: 'EVENT', yields: 2 },
    { head: 'DATA', yields: 1 },
  ]
  const cells = rows.map((row) => [
    { text: iso(row.at).slice(11), paint: colors.dim },
    ...(numbered ? [`${row.visit}`] : []),
    row.kind,
    inWords(row.data),
  ])
  return renderTable(columns, cells, { width })
}

/** One event as it comes, in the columns of a table that nobody can measure beforehand. */
export function eventLine(cli: Cli, row: Event): string {
  const { colors, width } = cli.out
  const head = `${iso(row.at).slice(11)}  ${clip(clean(row.kind), 19).padEnd(19)}  `
  const data = clip(clean(inWords(row.data)), Math.max(8, width - head.length))
  return `${colors.dim(head.slice(0, 13))}${head.slice(13)}${data}`.trimEnd()
}

function inWords(data: Readonly<Record<string, unknown>>): string {
  // A store gives keys in their own order; what changed reads best before why.
  const { from, to, ...rest } = data
  return Object.entries({ from, to, ...rest })
    .filter(([, value]) => value !== undefined)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(', ')
}
