// What lies on the disk, and what is put there for certain.
import * as fs from 'node:fs'
import { join } from 'node:path'

/**
 * Bytes below a folder: allocated blocks, or with `lengths` the lengths of files, for stores that
 * allocate ahead.
 * @param {string} folder
 * @returns {number}
 */
export function diskBytes(folder, lengths = false) {
  let bytes = 0
  for (const entry of fs.readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) {
      bytes += diskBytes(path, lengths)
      continue
    }
    const stat = fs.lstatSync(path, { throwIfNoEntry: false })
    bytes += stat === undefined ? 0 : lengths ? stat.size : stat.blocks * 512
  }
  return bytes
}

/**
 * The effect of test E: a line that outlives whoever wrote it.
 * @param {string} file
 * @param {string} line
 */
export function appendDurably(file, line) {
  const fd = fs.openSync(file, 'a')
  fs.writeSync(fd, `${line}\n`)
  fs.fsyncSync(fd)
  fs.closeSync(fd)
}

/** @param {string} file */
export function linesOf(file) {
  return fs.existsSync(file) ? fs.readFileSync(file, 'utf8').trim().split('\n') : []
}

/**
 * True for the first who asks: the file is taken away.
 * @param {string} file
 */
export function take(file) {
  try {
    fs.unlinkSync(file)
    return true
  } catch {
    return false
  }
}

const tmpfs = 0x01021994

/** @param {string} folder */
export function isMemory(folder) {
  return fs.statfsSync(folder).type === tmpfs
}
