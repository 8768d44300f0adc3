// Installs what the comparison needs, on first use. Node built-ins only.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const here = fileURLToPath(new URL('.', import.meta.url))
const stamp = join(here, 'node_modules', '.stamp')

function wanted() {
  const lockfile = readFileSync(join(here, 'package-lock.json'))
  const { versions, platform, arch } = process
  return createHash('sha256')
    .update(lockfile)
    .update([versions.modules, platform, arch].join(' '))
    .digest('hex')
}

export function install() {
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted()) return
  console.log('Installing the systems to compare with into bench/peers. This takes a few minutes.')
  const env = { ...process.env, SCARF_ANALYTICS: 'false', DO_NOT_TRACK: '1' }
  const options = /** @type {const} */ ({ cwd: here, env, stdio: 'inherit' })
  const { status } = spawnSync('npm', ['ci'], { ...options, shell: process.platform === 'win32' })
  if (status !== 0) throw new Error('npm ci failed in bench/peers; its last lines are above')
  writeFileSync(stamp, wanted())
}

/** @param {string} name */
export function versionOf(name) {
  const folder = name === 'counterfoil' ? '../..' : `node_modules/${name}`
  return JSON.parse(readFileSync(join(here, folder, 'package.json'), 'utf8')).version
}

/** A Node that is new enough for those that need 22: ours, or one from npm; null if there is none. */
export function node22() {
  if (Number(process.versions.node.split('.')[0]) >= 22) return process.execPath
  const { platform, arch } = process
  const found = ['node', 'node-bin']
    .map((name) => join(here, 'node_modules', `${name}-${platform}-${arch}`, 'bin', 'node'))
    .find(existsSync)
  return found ?? null
}

/**
 * The built package, copied to where nothing builds. It finds the same drivers as the others.
 * @returns {{ folder: string, url: string }}
 */
export function copyOfOurs() {
  const folder = join(here, '.data', `counterfoil-${process.pid}`)
  mkdirSync(folder, { recursive: true })
  for (const name of ['dist', 'package.json']) {
    cpSync(join(here, '../..', name), join(folder, name), { recursive: true })
  }
  return { folder, url: pathToFileURL(join(folder, 'dist/index.js')).href }
}
