// One Postgres server for a whole test run, or the one that COUNTERFOIL_TEST_POSTGRES names. Test
// files ask for it by `postgresUrl()` in bench.ts.
import type { TestProject } from 'vitest/node'
import { startPostgres } from './server.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** Empty where there is no server. */
    postgresUrl: string
  }
}

export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  const given = process.env['COUNTERFOIL_TEST_POSTGRES']
  if (given !== undefined) {
    project.provide('postgresUrl', given)
    return async () => {}
  }
  try {
    const server = await startPostgres()
    project.provide('postgresUrl', server.url)
    return () => server.stop()
  } catch (error) {
    if (process.env['CI'] !== undefined) throw error
    console.warn(`Tests of the Postgres store are left out: ${String(error)}`)
    project.provide('postgresUrl', '')
    return async () => {}
  }
}
