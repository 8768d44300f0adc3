// The suite itself: what it asks of a store, it asks of every store.
import { expect, test } from 'vitest'
import { openMemory } from '../../src/store/memory/index.ts'
import { openSqlite } from '../../src/store/sqlite/index.ts'
import { storeSuite, type TestApi } from '../../src/testing/index.ts'

function namesFor(name: string, open: Parameters<typeof storeSuite>[1]['open']): string[] {
  const names: string[] = []
  const api = {
    describe: (_name: string, body: () => void) => body(),
    test: (each: string) => {
      names.push(each)
    },
    expect,
  } as unknown as TestApi
  storeSuite(name, { open, durable: false }, api)
  return names
}

test('L5 memory and SQLite are asked the same, concern by concern', () => {
  const memory = namesFor('memory', async (clock) => openMemory({ clock }))
  const sqlite = namesFor('sqlite', async (clock) => openSqlite({ path: 'never opened', clock }))
  expect(memory.length).toBeGreaterThan(60)
  expect(sqlite).toEqual(memory)
})
