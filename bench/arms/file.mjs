// A state in a file, replaced as a whole and synced.
import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'

/** @typedef {{ turns: number, messages: import('./agent.mjs').Message[] }} Kept */

/**
 * @param {string} dir
 * @returns {Kept}
 */
export function read(dir) {
  const file = join(dir, 'state.json')
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : { turns: 0, messages: [] }
}

/**
 * @param {string} dir
 * @param {Kept} kept
 */
export function save(dir, kept) {
  const file = join(dir, 'state.json')
  const fd = openSync(`${file}.new`, 'w')
  writeFileSync(fd, JSON.stringify(kept))
  fsyncSync(fd)
  closeSync(fd)
  renameSync(`${file}.new`, file)
  const folder = openSync(dir, 'r')
  fsyncSync(folder)
  closeSync(folder)
}
