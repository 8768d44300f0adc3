import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

// .ci/run names a file here and takes its last line from it.
const { COUNTERFOIL_TEST_REPORT: report } = process.env

// Seconds, by `npm run steady -- --durations`. The longest begin first: the last of them would else
// run alone while other cores have nothing to do.
const root = fileURLToPath(new URL('.', import.meta.url))
const durations: Record<string, number> = JSON.parse(
  readFileSync(join(root, 'test/durations.json'), 'utf8'),
)

class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const seconds = ({ moduleId }: TestSpecification) => durations[relative(root, moduleId)] ?? 0
    return (await super.sort(files)).sort((a, b) => seconds(b) - seconds(a))
  }
}

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // A Postgres server for whoever needs one.
    globalSetup: ['test/postgres/global-setup.ts'],
    testTimeout: 300_000,
    // The defaults are short for what other processes have to do first: a build, a server's end,
    // whatever a client waits for when it closes.
    hookTimeout: 300_000,
    teardownTimeout: 60_000,
    expect: { poll: { timeout: 90_000 } },
    pool: 'forks',
    // More files than cores at a time: about half of what they do is to wait for disks, processes
    // and servers.
    maxWorkers: Math.max(4, availableParallelism()),
    sequence: { sequencer: LongFirst },
    reporters: report ? ['default', ['json', { outputFile: report }]] : ['default'],
  },
})
