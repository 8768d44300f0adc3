// `npm run bench:peers`: Counterfoil beside others, in one run on one disk.
//   --only dbos,counterfoil-sqlite   some systems
//   --tests A,E                      some tests
//   --steps 1000 --runs 50 --each 20 --growth 100,400,1600 --blocks 3 --rounds 5 --crashes 5 --probes 300
//   --no-leases                      no waiting for leases in test D
//   --data folder                    where all stores lie; a folder of its own is made in it
//   --out file                       results as JSON; the table and the pictures are made from it
import { chmodSync, mkdtempSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, loadavg, release, tmpdir, totalmem } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { isMemory } from './disk.mjs'
import { openFloors } from './floors.mjs'
import { tidy } from './harness.mjs'
import { startPostgres } from './postgres.mjs'
import { errorsOf, reportOf } from './report.mjs'
import { copyOfOurs, install, node22, versionOf } from './setup.mjs'
import { tests } from './tests.mjs'

const files = ['counterfoil', 'langgraph', 'dbos', 'restate', 'openworkflow', 'absurd']
const names = /** @type {(keyof typeof tests)[]} */ (Object.keys(tests))

const { values } = parseArgs({
  allowNegative: true,
  options: {
    only: { type: 'string' },
    tests: { type: 'string', default: names.join(',') },
    steps: { type: 'string', default: '1000' },
    runs: { type: 'string', default: '50' },
    each: { type: 'string', default: '20' },
    growth: { type: 'string', default: '100,400,1600' },
    blocks: { type: 'string', default: '3' },
    rounds: { type: 'string', default: '5' },
    crashes: { type: 'string', default: '5' },
    probes: { type: 'string', default: '300' },
    leases: { type: 'boolean', default: true },
    data: { type: 'string', default: tmpdir() },
    out: {
      type: 'string',
      default: fileURLToPath(new URL('./.data/results.json', import.meta.url)),
    },
  },
})
const sizes = {
  steps: Number(values.steps),
  runs: Number(values.runs),
  each: Number(values.each),
  growth: values.growth.split(',').map(Number),
  blocks: Number(values.blocks),
  rounds: Number(values.rounds),
  crashes: Number(values.crashes),
  probes: Number(values.probes),
  leases: values.leases,
}

/** A misspelt word would else end, after minutes, in results without a figure over those of before. */
function refuse(/** @type {string} */ why) {
  console.error(why)
  process.exit(2)
}

const numbers = Object.entries({ ...sizes, leases: 1 }).flatMap(([name, value]) =>
  [value].flat().map((/** @type {number} */ each) => ({ name, each })),
)
const odd = numbers.find(({ each }) => !Number.isInteger(each) || each < 1)
if (odd) refuse(`--${odd.name} takes whole numbers of at least 1`)
const asked = values.tests.split(',')
const unknown = asked.find((each) => !names.some((name) => name === each))
if (unknown !== undefined) refuse(`there is no test ${unknown}; there are: ${names.join(', ')}`)

const say = (/** @type {unknown[]} */ ...words) =>
  console.log(new Date().toISOString().slice(11, 19), ...words)

async function chosen() {
  const only = values.only?.split(',')
  /** @type {import('./harness.mjs').Named[]} */
  const found = []
  /** @type {Record<string, string>} */
  const skipped = {}
  for (const file of files) {
    /** @type {{ systems: Record<string, import('./harness.mjs').System> }} */
    const { systems } = await import(`./systems/${file}.mjs`)
    for (const [name, system] of Object.entries(systems)) {
      if (only && !only.includes(name)) continue
      const execPath = system.node === '22' ? node22() : process.execPath
      const why = execPath === null ? 'it needs Node 22' : (system.unavailable?.() ?? null)
      if (why !== null) skipped[name] = why
      else if (execPath !== null) found.push({ ...system, name, file, execPath })
    }
  }
  const known = [...found.map(({ name }) => name), ...Object.keys(skipped)]
  const strange = only?.find((name) => !known.includes(name))
  if (strange !== undefined) refuse(`there is no system ${strange}`)
  return { found, skipped }
}

async function main() {
  install()
  const { found, skipped } = await chosen()
  const ours = copyOfOurs()
  process.env['COUNTERFOIL_DIST'] = ours.url
  const dir = mkdtempSync(join(realpathSync(resolve(values.data)), 'counterfoil-peers-'))
  chmodSync(dir, 0o755)
  // The server's data lies there too: one disk for all.
  process.env['TMPDIR'] = dir
  if (isMemory(dir)) say('This folder is memory, not a disk: no figure below is worth anything.')
  const postgres = await startPostgres()
  const clean = async () => {
    await postgres.stop()
    rmSync(ours.folder, { recursive: true, force: true })
    rmSync(dir, { recursive: true, force: true, maxRetries: 5 })
  }
  for (const signal of ['SIGINT', 'SIGTERM']) {
    process.once(signal, () => clean().finally(() => process.exit(1)))
  }
  const floors = await openFloors(dir, postgres)
  /** @type {any} */
  const results = {
    ranAt: new Date().toISOString(),
    machine: {
      node: process.version,
      cpu: cpus()[0]?.model ?? '',
      cores: cpus().length,
      memoryGiB: Math.round(totalmem() / 2 ** 30),
      kernel: release(),
    },
    sizes,
    postgres: postgres.facts,
    floors: { before: await floors.probe(sizes.probes * 3) },
    load: { before: loadavg() },
    systems: {},
    skipped,
  }
  const save = () => {
    writeFileSync(`${values.out}.tmp`, `${JSON.stringify(results, null, 1)}\n`)
    renameSync(`${values.out}.tmp`, values.out)
  }
  try {
    for (const system of found) {
      const { name, about, floor, durable, packages, leaseSeconds } = system
      const versions = Object.fromEntries(packages.map((each) => [each, versionOf(each)]))
      const figures = { about, floor, durable, leaseSeconds, versions }
      results.systems[name] = figures
      for (const test of names) {
        if (!asked.includes(test) || system.tests?.includes(test) === false) continue
        const taken = await tests[test]({ dir, postgres, floors, sizes }, system).catch(
          (error) => ({ error: tidy(String(error?.message ?? error), dir) }),
        )
        Object.assign(figures, { [test]: taken })
        say(name, test, JSON.stringify(taken).slice(0, 300))
        save()
      }
    }
    results.floors.after = await floors.probe(sizes.probes * 3)
    results.load.after = loadavg()
    save()
    await floors.close()
  } finally {
    await clean()
  }
  console.log(reportOf(results))
  say(`results in ${values.out}`)
  const errors = errorsOf(results)
  for (const error of errors) console.error(`not measured: ${error}`)
  return errors.length === 0
}

process.exit((await main()) ? 0 : 1)
