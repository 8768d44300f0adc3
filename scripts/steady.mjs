// Runs the tests again and again while other processes keep the machine busy:
//   npm run steady -- [--runs 10] [--load 6] [--out FOLDER] [--durations] [files…]
// `--load`: so many busy processes, ended with it. `--out` keeps the report and log of each run; a
// folder with some runs in it is gone on with: a command that was stopped can be given again.
// `--durations` writes how long files take (the median) to test/durations.json, by which vitest
// orders them. Exit 1 if a test failed in any run.
import { fork, spawn, spawnSync } from 'node:child_process'
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

/**
 * @typedef {object} Report As vitest writes it, as far as it is read here.
 * @property {boolean} success
 * @property {number} numPassedTests
 * @property {number} startTime
 * @property {{ name: string, status: string, startTime: number, endTime: number, message: string,
 *   assertionResults: { status: string, fullName: string }[] }[]} testResults
 */
/**
 * @typedef {object} Ran
 * @property {number} passed
 * @property {number} seconds
 * @property {string[]} failed File and name of each test that failed.
 * @property {Record<string, number>} files Seconds for each.
 */

const root = fileURLToPath(new URL('..', import.meta.url))
const durationsFile = join(root, 'test/durations.json')
/** Shorter files are no matter in the order. */
const longSeconds = 5
const slowestShown = 20
const burnMs = 50

/** @param {number[]} values */
function median(values) {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? 0
}

/**
 * @param {Report} report
 * @param {string} [folder] Where the files' names begin.
 * @returns {Ran}
 */
export function ranOf(report, folder = root) {
  const ends = report.testResults.map((file) => file.endTime)
  const failed = report.testResults.flatMap((file) => {
    const name = relative(folder, file.name)
    const tests = file.assertionResults.filter((each) => each.status === 'failed')
    if (tests.length > 0) return tests.map((each) => `${name}: ${each.fullName}`)
    return file.status === 'failed' ? [`${name}: ${file.message.split('\n')[0]}`] : []
  })
  // A run can fail without a failed test: by an error that nobody caught, or a set-up.
  const elsewhere = report.success || failed.length > 0 ? [] : ['a failure outside the tests']
  const secondsOf = (/** @type {{ startTime: number, endTime: number }} */ file) =>
    (file.endTime - file.startTime) / 1000
  return {
    passed: report.numPassedTests,
    seconds: (Math.max(report.startTime, ...ends) - report.startTime) / 1000,
    failed: [...failed, ...elsewhere],
    files: Object.fromEntries(
      report.testResults.map((file) => [relative(folder, file.name), secondsOf(file)]),
    ),
  }
}

/**
 * Each file's median over the runs, longest first.
 * @param {readonly Ran[]} runs
 * @returns {{ file: string, seconds: number, longest: number }[]}
 */
export function slowestOf(runs) {
  const names = [...new Set(runs.flatMap((run) => Object.keys(run.files)))]
  return names
    .map((file) => {
      const all = runs.flatMap((run) => run.files[file] ?? [])
      return { file, seconds: median(all), longest: Math.max(...all) }
    })
    .sort((a, b) => b.seconds - a.seconds)
}

/** @param {readonly Ran[]} runs */
export function tableOf(runs) {
  const minutes = (/** @type {number} */ seconds) => `${(seconds / 60).toFixed(1)} min`
  const failed = new Map()
  for (const run of runs) {
    for (const name of run.failed) failed.set(name, (failed.get(name) ?? 0) + 1)
  }
  const rows = runs.map((run, i) => {
    const how = run.failed.length === 0 ? 'passed' : 'FAILED'
    return `| ${i + 1} | ${how} | ${run.passed} | ${run.failed.length} | ${minutes(run.seconds)} |`
  })
  const files = slowestOf(runs)
    .slice(0, slowestShown)
    .map(
      ({ file, seconds, longest }) => `| ${file} | ${seconds.toFixed(1)} | ${longest.toFixed(1)} |`,
    )
  return [
    ...['| run | | passed | failed | time |', '|---|---|---|---|---|', ...rows, ''],
    ...(failed.size === 0 ? ['No test failed.'] : ['Failed:']),
    ...[...failed].map(([name, times]) => `- ${times} of ${runs.length}: ${name}`),
    ...['', '| slowest files | median, s | longest, s |', '|---|---|---|', ...files],
  ].join('\n')
}

/** @param {number} count */
function keepBusy(count) {
  const self = fileURLToPath(import.meta.url)
  const children = Array.from({ length: count }, () => fork(self, ['burn']))
  return () => {
    for (const child of children) child.kill('SIGKILL')
  }
}

/** In slices: whoever started it may have been killed, and it has to hear that. */
function burn() {
  const until = Date.now() + burnMs
  while (Date.now() < until);
  if (process.connected) setImmediate(burn)
  else process.exit()
}

/**
 * @param {string} base The report's and the log's path, without their endings.
 * @param {string[]} files
 * @returns {Promise<Ran>}
 */
async function runOnce(base, files) {
  const log = openSync(`${base}.log`, 'w')
  const vitest = join(root, 'node_modules/vitest/vitest.mjs')
  const child = spawn(process.execPath, [vitest, 'run', ...files], {
    cwd: root,
    stdio: ['ignore', log, log],
    env: { ...process.env, COUNTERFOIL_TEST_REPORT: `${base}.json` },
  })
  const stop = () => void child.kill('SIGTERM')
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, stop)
  const [code, signal] = await new Promise((done) => child.on('close', (...end) => done(end)))
  for (const signal of ['SIGINT', 'SIGTERM']) process.off(signal, stop)
  closeSync(log)
  if (signal !== null) throw new Error(`the tests were ended by ${signal}`)
  if (!existsSync(`${base}.json`)) throw new Error(`exit ${code} without a report: ${base}.log`)
  return ranOf(read(base))
}

/** @param {string} base @returns {Report} */
function read(base) {
  return JSON.parse(readFileSync(`${base}.json`, 'utf8'))
}

function options() {
  const { values, positionals } = parseArgs({
    options: {
      runs: { type: 'string', default: '10' },
      load: { type: 'string', default: '6' },
      out: { type: 'string', default: 'steady' },
      durations: { type: 'boolean', default: false },
    },
    allowPositionals: true,
  })
  const whole = (/** @type {'runs' | 'load'} */ name) => {
    if (/^\d{1,4}$/.test(values[name])) return Number(values[name])
    throw new Error(`--${name} is a whole number`)
  }
  const [runs, load] = [whole('runs'), whole('load')]
  if (runs === 0) throw new Error('--runs is at least 1')
  const missing = positionals.find((file) => !existsSync(join(root, file)))
  if (missing !== undefined) throw new Error(`there is no file ${missing}`)
  return { runs, load, files: positionals, out: resolve(values.out), keep: values.durations }
}

/** The runs that are in a folder are of the same commit, load and files. */
function begin(/** @type {string} */ out, /** @type {object} */ what) {
  mkdirSync(out, { recursive: true })
  const path = join(out, 'steady.json')
  const said = `${JSON.stringify(what)}\n`
  if (!existsSync(path)) return writeFileSync(path, said)
  if (readFileSync(path, 'utf8') === said) return
  throw new Error(`${out} has runs of something else: delete it, or take another --out`)
}

async function main() {
  const { runs, load, files, out, keep } = options()
  const git = spawnSync('git', ['rev-parse', 'HEAD'], { cwd: root, encoding: 'utf8' })
  begin(out, { commit: git.stdout.trim(), load, files })
  const setup = spawnSync(process.execPath, ['scripts/setup.mjs'], { cwd: root, stdio: 'inherit' })
  if (setup.status !== 0) throw new Error('the set-up failed')
  const bases = Array.from({ length: runs }, (_, i) => join(out, `run-${i + 1}`))
  const isDone = (/** @type {string} */ base) => existsSync(`${base}.json`)
  const rest = keepBusy(bases.every(isDone) ? 0 : load)
  /** @type {Ran[]} */
  const done = []
  try {
    for (const [i, base] of bases.entries()) {
      const ran = isDone(base) ? ranOf(read(base)) : await runOnce(base, files)
      const how = ran.failed.length === 0 ? 'passed' : `FAILED ${ran.failed.join('; ')}`
      console.log(`run ${i + 1} of ${runs}, ${Math.round(ran.seconds)} s: ${how}`)
      done.push(ran)
    }
  } finally {
    rest()
  }
  console.log(`\n${tableOf(done)}`)
  if (keep) {
    const long = slowestOf(done).filter(({ seconds }) => seconds >= longSeconds)
    const kept = Object.fromEntries(long.map(({ file, seconds }) => [file, Math.round(seconds)]))
    writeFileSync(durationsFile, `${JSON.stringify(kept, null, 2)}\n`)
  }
  return done.every((ran) => ran.failed.length === 0)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (process.argv[2] === 'burn') burn()
  else {
    await main().then(
      (ok) => process.exit(ok ? 0 : 1),
      (error) => {
        console.error(error.message)
        process.exit(2)
      },
    )
  }
}
