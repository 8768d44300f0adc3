import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { configDefaults, defineConfig } from 'vitest/config'
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
    const seconds = ({ moduleId, project }: TestSpecification) =>
      // One after the other, at the end: a process is kept while the next file can share it.
      project.config.isolate ? (durations[relative(root, moduleId)] ?? 0) : -1
    return (await super.sort(files)).sort((a, b) => seconds(b) - seconds(a))
  }
}

// These start no process and change nothing that others see: many of them share a process, which
// has read the source once. Every other file has a process of its own.
const sharing = ['model', 'engine', 'types', 'testing'].map((name) => `test/${name}/**/*.test.ts`)

const common = {
  // How long a broken program may hang, on a machine with much else to do; not how long a whole one
  // may take.
  testTimeout: 300_000,
  hookTimeout: 300_000,
  expect: { poll: { timeout: 90_000 } },
  pool: 'forks',
} as const

export default defineConfig({
  test: {
    // A Postgres server for whoever needs one.
    globalSetup: ['test/postgres/global-setup.ts'],
    teardownTimeout: 60_000,
    // More files than cores at a time: about half of what they do is to wait for disks, processes
    // and servers.
    maxWorkers: Math.max(4, availableParallelism()),
    sequence: { sequencer: LongFirst },
    reporters: report ? ['default', ['json', { outputFile: report }]] : ['default'],
    projects: [
      {
        test: {
          ...common,
          name: 'alone',
          include: ['test/**/*.test.ts'],
          exclude: [...configDefaults.exclude, ...sharing],
        },
      },
      { test: { ...common, name: 'sharing', include: sharing, isolate: false } },
    ],
  },
})
