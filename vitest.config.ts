import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

// .ci/run names a file here and takes its last line from it.
const { COUNTERFOIL_TEST_REPORT: report } = process.env

// A minute or more each, by what they are called. Begun first: the last of them would else run
// alone while the other core has nothing to do.
const long = /(kills?|proof|look|examples|fleet|chaos|random|failpoints|postgres|models)\.test\.ts$/

class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const isLong = ({ moduleId }: TestSpecification) => long.test(moduleId)
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))]
  }
}

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // A Postgres server for whoever needs one.
    globalSetup: ['test/postgres/global-setup.ts'],
    testTimeout: 120_000,
    // The defaults are short for what other processes have to do first: a build, a server's end,
    // whatever a client waits for when it closes.
    hookTimeout: 120_000,
    teardownTimeout: 60_000,
    expect: { poll: { timeout: 30_000 } },
    pool: 'forks',
    // On two cores the default is one file at a time, though most of them wait for processes.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    sequence: { sequencer: LongFirst },
    reporters: report ? ['default', ['json', { outputFile: report }]] : ['default'],
  },
})
