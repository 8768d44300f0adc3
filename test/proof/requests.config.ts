// The test that sends requests, with a seed of the programme's.
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  root: fileURLToPath(new URL('../..', import.meta.url)),
  test: {
    include: ['test/security/fuzz.test.ts'],
    setupFiles: ['test/proof/requests.setup.ts'],
    pool: 'forks',
    hookTimeout: 120_000,
  },
})
