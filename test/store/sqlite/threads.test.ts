import { expect, test } from 'vitest'
import { chainOf } from '../../../src/store/sqlite/threads.ts'
import { space } from '../../../src/testing/store/ports/thread-fixtures.ts'
import { newPath, raw, using } from '../bench.ts'

// SQLite took the table of all threads first and looked each row up in the chain.
test('K1 a chain is read by seeks, whatever other threads there are', async () => {
  const path = newPath()
  await using(path, async () => {})
  const plan = raw(path, (db) =>
    db.prepare(`explain query plan ${chainOf}`).all({ ...space(), from: null }),
  ) as { detail: string }[]
  const ways = plan.map((row) => row.detail).filter((text) => /^(SCAN|SEARCH)/.test(text))
  expect(ways.length).toBeGreaterThan(3)
  const tables = ways.filter((text) => text !== 'SCAN chain')
  for (const way of tables) expect(way).toMatch(/^SEARCH .*\((namespace=\? AND thread_id|rowid)/)
  expect(ways.join()).not.toContain('AUTOMATIC')
})
