// Lists that a store gives whole, in pages: the cursor is how far one has come.
import { errorFor } from '../../model/errors.ts'
import * as limits from '../../model/limits.ts'

export function part<T>(
  rows: readonly T[],
  { cursor, limit = limits.pageSize }: { cursor?: string | undefined; limit?: number | undefined },
): { items: readonly T[]; next: string | null } {
  const from = cursor === undefined ? 0 : Number(/^\d{1,9}$/.exec(cursor)?.[0] ?? Number.NaN)
  if (Number.isNaN(from)) {
    throw errorFor('CURSOR_INVALID', cursor)
  }
  const to = from + Math.max(1, limit)
  return { items: rows.slice(from, to), next: to < rows.length ? String(to) : null }
}
