import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { describePostgres, dropSchema, postgresUrl } from '../../postgres/bench.ts'

const closer = fileURLToPath(new URL('../../postgres/closer.mjs', import.meta.url))

describePostgres('B8 a process of its own', () => {
  // The connection that listens keeps no process alive: one that awaited its end came to its own.
  test('close() comes back in a process that has nothing else to do', async () => {
    const url = postgresUrl()
    try {
      const { stdout } = await promisify(execFile)(process.execPath, [closer, url])
      expect(stdout).toBe('closed\n')
    } finally {
      await dropSchema(url)
    }
  })
})
