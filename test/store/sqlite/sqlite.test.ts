import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { openSqlite } from '../../../src/store/sqlite/index.ts'
import { storeSuite } from '../../../src/testing/index.ts'

const folder = mkdtempSync(join(tmpdir(), 'counterfoil-suite-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let count = 0
storeSuite(
  'sqlite',
  {
    open: (clock) => openSqlite({ path: join(folder, `${++count}.db`), clock }),
    reopen: async (store, clock) => {
      await store.close()
      return openSqlite({ path: store.url.slice('sqlite:'.length), clock })
    },
    durable: true,
  },
  { describe, test, expect },
)
