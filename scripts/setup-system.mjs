// Programs that some tests use. Installed where that is ours to do: as root, on a system with
// apt-get. It never fails: tests without their program say so and leave out what needs it. Those
// that must have theirs (`needed`: the models) fail by themselves, and theirs is tried every time.
import { spawn } from 'node:child_process'
import { accessSync, constants, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** @typedef {{ command: string, package: string, needed?: boolean }} Wanted */

/** @type {readonly Wanted[]} */
const WANTED = [
  { command: 'pgbouncer', package: 'pgbouncer' },
  { command: 'chromium', package: 'chromium' },
  { command: 'strace', package: 'strace' },
  { command: 'gcc', package: 'gcc', needed: true },
  { command: 'spin', package: 'spin', needed: true },
]

// What was tried and could not be had is not tried again before every test.
const TRIED = fileURLToPath(new URL('../node_modules/.counterfoil-system', import.meta.url))
const TIMEOUT_MS = 300_000

/** @param {(line: string) => void} say */
export async function installSystem(say) {
  const missing = WANTED.filter(({ command }) => find(command) === undefined)
  if (missing.length === 0 || !isOurs()) return
  const packages = missing.map((wanted) => wanted.package)
  const names = packages.join(' ')
  if (wasTried(names) && !missing.some(({ needed }) => needed)) return
  say(`Installing for the tests: ${names}.`)
  const lock = ['-o', 'DPkg::Lock::Timeout=60']
  await apt([...lock, 'update'])
  // One by one: a package that cannot be had must not keep the others away.
  for (const name of packages) {
    const done = await apt([...lock, 'install', '-y', '--no-install-recommends', name])
    if (!done) say(`${name} could not be installed; tests that need it say so.`)
  }
  note(names)
}

function isOurs() {
  return process.getuid?.() === 0 && find('apt-get') !== undefined
}

/**
 * @param {string} command
 * @returns {string | undefined}
 */
function find(command) {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin']
  return folders.map((folder) => join(folder, command)).find(isExecutable)
}

/** @param {string} path */
function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** @param {string} names */
function wasTried(names) {
  try {
    return readFileSync(TRIED, 'utf8') === names
  } catch {
    return false
  }
}

/** @param {string} names */
function note(names) {
  try {
    mkdirSync(dirname(TRIED), { recursive: true })
    writeFileSync(TRIED, names)
  } catch {
    // Then it is tried again.
  }
}

/**
 * @param {string[]} args
 * @returns {Promise<boolean>}
 */
function apt(args) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  return new Promise((resolve) => {
    const child = spawn('apt-get', args, { env, stdio: 'ignore', timeout: TIMEOUT_MS })
    child.on('error', () => resolve(false))
    child.on('close', (code) => resolve(code === 0))
  })
}
