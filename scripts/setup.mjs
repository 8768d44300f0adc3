// Makes a clone ready: dependencies installed, dist built. Runs before `npm start` and `npm test`;
// before tests also what they need of the system, where it can be had (setup-system.mjs).
//
// owns          node_modules/.counterfoil-stamp, dist/.built
// does not own  the lock (setup-lock.mjs), what npm, tsdown and vite do
// invariants
//   1. The stamp and dist/.built are removed first and written last: a set-up that was killed
//      anywhere is done again.
//   2. npm, tsdown and vite run only under the lock, which knows the process group they run in.
//
// Node built-ins only: when this runs, nothing is installed.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import * as fs from 'node:fs'
import { constants } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { groupOf, isAlive, POSIX, SetupLock } from './setup-lock.mjs'
import { installSystem } from './setup-system.mjs'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const STAMP = join(ROOT, 'node_modules/.counterfoil-stamp')
const BUILT = join(ROOT, 'dist/.built')

const NODE_MIN = [20, 19]
const OUTPUT_TAIL_LINES = 40

const lock = new SetupLock(join(ROOT, '.setup-lock'))

/** A failure whose message is all that the reader needs; no stack. */
class SetupError extends Error {}

/** @param {string} line */
function say(line) {
  process.stderr.write(`${line}\n`)
}

function checkNode() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  const [majorMin = 0, minorMin = 0] = NODE_MIN
  if (major > majorMin || (major === majorMin && minor >= minorMin)) return
  throw new SetupError(
    `Counterfoil needs Node ${NODE_MIN.join('.')} or newer; this is ${process.versions.node}. ` +
      'Install a newer one from https://nodejs.org and try again.',
  )
}

/** @param {string} path */
function read(path) {
  try {
    return fs.readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

// What is installed depends on the lockfile and, for the compiled SQLite driver, on this Node.
function wantedStamp() {
  const lockfile = read(join(ROOT, 'package-lock.json'))
  if (lockfile === undefined) {
    throw new SetupError(`package-lock.json is missing in ${ROOT}: restore it from git.`)
  }
  const machine = [process.versions.modules, process.platform, process.arch].join(' ')
  return createHash('sha256').update(`${lockfile}\n${machine}`).digest('hex')
}

function isInstalled() {
  return read(STAMP) === wantedStamp()
}

function isBuilt() {
  const builtMs = fs.statSync(BUILT, { throwIfNoEntry: false })?.mtimeMs
  if (builtMs === undefined) return false
  const inputs = [
    ...['src', 'package.json', 'tsconfig.json', 'tsdown.config.ts'],
    ...['src', 'public', 'index.html', 'package.json', 'vite.config.ts'].map(
      (name) => `console/${name}`,
    ),
  ]
  return inputs.every((input) => newestMs(join(ROOT, input)) < builtMs)
}

// A directory counts as well: its time changes when a file in it is removed or renamed.
/**
 * @param {string} path
 * @returns {number}
 */
function newestMs(path) {
  const stat = fs.statSync(path, { throwIfNoEntry: false })
  if (!stat) return 0
  if (!stat.isDirectory()) return stat.mtimeMs
  const inside = fs.readdirSync(path).map((name) => newestMs(join(path, name)))
  return Math.max(stat.mtimeMs, ...inside)
}

async function install() {
  const again = fs.existsSync(STAMP)
  say(
    again
      ? 'The dependencies changed: installing them again. This takes a few minutes.'
      : 'Setting up: installing dependencies and compiling the SQLite driver. ' +
          'The first time takes a few minutes.',
  )
  fs.rmSync(STAMP, { force: true })
  fs.rmSync(BUILT, { force: true })
  const npm = npmCommand()
  const done = await runCommand(npm.file, [...npm.args, 'ci', '--include=dev'])
  if (done.code !== 0) throw new SetupError(installAdvice(done))
  await checkDriver()
  fs.writeFileSync(STAMP, wantedStamp())
}

// pnpm, yarn and bun set npm_execpath to themselves; what we need is npm.
function npmCommand() {
  const { npm_execpath: execpath } = process.env
  return execpath !== undefined && basename(execpath) === 'npm-cli.js' && fs.existsSync(execpath)
    ? { file: process.execPath, args: [execpath] }
    : { file: 'npm', args: [] }
}

/** @param {Done} done */
function installAdvice(done) {
  // npm ends a refusal with a page about its own options, which helps nobody here.
  const output = done.output.split('npm error Clean install a project')[0] ?? ''
  return [
    tail(output),
    '',
    `\`npm ci\` failed (${ending(done)}); its last lines are above.`,
    ...installHint(output),
    'Then run the same command again: it starts the installation from the beginning.',
  ].join('\n')
}

/** @param {string} output */
function installHint(output) {
  if (/EUSAGE/.test(output)) {
    return [
      'package.json and package-lock.json do not agree. If you changed a dependency, run',
      '`npm install` and commit both; if you did not, run `git checkout package-lock.json`.',
    ]
  }
  if (/node-gyp|prebuild-install/.test(output)) {
    return [
      'The SQLite driver could not be downloaded or compiled. Compiling needs Python 3 and a C++',
      'compiler: `apt install python3 make g++`, or `xcode-select --install` on macOS.',
    ]
  }
  return ['Check the network and the free disk space.']
}

// npm may skip install scripts and still end well; then the driver is not there.
async function checkDriver() {
  const script = "new (require('better-sqlite3'))(':memory:').close()"
  const done = await runCommand(process.execPath, ['-e', script])
  if (done.code === 0) return
  throw new SetupError(
    [
      tail(done.output),
      '',
      'The SQLite driver (better-sqlite3) was installed and does not load; see above.',
      'npm may be told not to run install scripts: see `npm config get ignore-scripts`.',
      'Run `npm rebuild better-sqlite3 --ignore-scripts=false`, then the same command again.',
    ].join('\n'),
  )
}

async function build() {
  const startedSeconds = Date.now() / 1000
  fs.rmSync(BUILT, { force: true })
  // In this order: tsdown empties dist, and the console goes into it.
  await buildWith('tsdown')
  await buildWith('vite', 'build', 'console')
  // Dated to its beginning, so that a file saved while it ran is built next time.
  fs.writeFileSync(BUILT, '')
  fs.utimesSync(BUILT, startedSeconds, startedSeconds)
}

/**
 * @param {'tsdown' | 'vite'} name
 * @param {string[]} args
 */
async function buildWith(name, ...args) {
  const done = await runCommand(process.execPath, [binPath(name), ...args])
  if (done.code === 0) return
  const advice = `The build (${name}) failed (${ending(done)}); fix what is above and try again.`
  throw new SetupError(`${tail(done.output)}\n\n${advice}`)
}

/** @param {string} name */
function binPath(name) {
  const folder = join(ROOT, 'node_modules', name)
  const manifest = read(join(folder, 'package.json'))
  if (manifest === undefined) {
    throw new SetupError(`${name} is not installed: delete node_modules and run this again.`)
  }
  return join(folder, JSON.parse(manifest).bin[name])
}

/** @typedef {{ code: number | null, signal: string | null, output: string }} Done */

// A process group of its own, so that whoever finds our lock can ask whether any of it still runs.
/**
 * @param {string} file
 * @param {string[]} args
 * @returns {Promise<Done>}
 */
function runCommand(file, args) {
  // In production npm leaves out the development dependencies, and the build needs them.
  const { NODE_ENV: _, ...env } = process.env
  return new Promise((resolve) => {
    let output = ''
    const child = spawn(file, args, {
      cwd: ROOT,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: POSIX,
      shell: file === 'npm' && !POSIX,
      windowsHide: true,
    })
    const keep = (/** @type {Buffer} */ chunk) => {
      output += chunk
    }
    child.stdout.on('data', keep)
    child.stderr.on('data', keep)
    child.on('error', (error) => resolve({ code: 1, signal: null, output: `${output}${error}` }))
    child.on('close', (code, signal) => resolve({ code, signal, output }))
    lock.noteChild(child.pid)
  }).then((done) => {
    lock.noteChild(undefined)
    return /** @type {Done} */ (done)
  })
}

/** @param {Done} done */
function ending(done) {
  return done.signal ? `killed by ${done.signal}` : `exit code ${done.code}`
}

/** @param {string} output */
function tail(output) {
  return output.trimEnd().split('\n').slice(-OUTPUT_TAIL_LINES).join('\n')
}

// The lock stays while the child dies: it is stale once the last of its group is gone.
/** @param {NodeJS.Signals} signal */
function stop(signal) {
  const { child } = lock
  if (child === undefined) lock.release()
  else if (isAlive(groupOf(child))) process.kill(groupOf(child), signal)
  process.exit(128 + constants.signals[signal])
}

async function main() {
  checkNode()
  if (!isInstalled() || !isBuilt()) await prepare()
  if (process.env['npm_lifecycle_event'] === 'pretest') await installSystem(say)
}

async function prepare() {
  const free = await lock.take((pid) => {
    say(`Another set-up is at work in this folder (process ${pid}); waiting for it.`)
  })
  if (!free) {
    throw new SetupError(`It is still at work. If it is not, delete ${lock.folder} and try again.`)
  }
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
    process.on(signal, stop)
  }
  try {
    // Asked again under the lock: another set-up may just have done it.
    if (!isInstalled()) await install()
    if (!isBuilt()) await build()
  } finally {
    lock.release()
  }
}

main().catch((error) => {
  say(error instanceof SetupError ? error.message : error.stack)
  process.exitCode = 1
})
