import { expect, test } from 'vitest'
import { translate } from '../../../src/store/sqlite/opening/errors.ts'

const sqliteError = (code: string, message: string) => Object.assign(new Error(message), { code })

test('B8 tables that are not ours are damage, and SQLite says which', () => {
  const messages = ['no such table: runs', 'table events has no column named at']
  for (const message of [...messages, 'unsupported file format']) {
    expect(translate(sqliteError('SQLITE_ERROR', message), 'runs.db')).toMatchObject({
      code: 'STORE_CORRUPT',
      message: expect.stringContaining(message),
    })
  }
})

test('B8, I4 what else SQLite calls an error may pass: it is not taken for damage', () => {
  const passing = sqliteError('SQLITE_ERROR', 'cannot rollback - no transaction is active')
  expect(translate(passing, 'runs.db')).toBe(passing)
})
