import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

// .ci/run names a file here and takes its last line from it.
const { COUNTERFOIL_TEST_REPORT: report } = process.env

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // A Postgres server for whoever needs one.
    globalSetup: ['test/postgres/global-setup.ts'],
    testTimeout: 30_000,
    pool: 'forks',
    // On two cores the default is one file at a time, though most of them wait for processes.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    reporters: report ? ['default', ['json', { outputFile: report }]] : ['default'],
  },
})
