// A file of signed lines, each one write. Durable when `append` returns. Every MAC covers the one
// before it, so that no line can be changed, taken out of the middle or moved.
import { randomBytes } from 'node:crypto'
import * as fs from 'node:fs'
import { dirname } from 'node:path'
import { CounterfoilError } from 'counterfoil'
import { createSealer } from 'counterfoil/store'

/** @param {string} path */
export function openLines(path) {
  const bad = (/** @type {string} */ code, /** @type {string} */ says) =>
    new CounterfoilError(code, `file:${path}: ${says}`)
  const lock = takeLock(`${path}.lock`, (pid) =>
    bad('STORE_BUSY', `process ${pid} has it open; only one at a time can`),
  )
  const sealer = createSealer([keyBeside(path)])
  const fd = fs.openSync(path, 'a+', 0o600)
  syncFolder(path)
  let last = ''
  /** @type {Error | null} */
  let closed = null

  return {
    /** @returns {Generator<[what: string, row: any][]>} What was written, line by line. */
    *read() {
      const bytes = fs.readFileSync(path)
      // A line that was begun and not ended was never acknowledged.
      const end = bytes.lastIndexOf('\n') + 1
      if (end < bytes.length) fs.ftruncateSync(fd, end)
      const lines = bytes.subarray(0, end).toString().split('\n').slice(0, -1)
      for (const [i, line] of lines.entries()) {
        const space = line.indexOf(' ')
        const [mac, json] = [line.slice(0, space), line.slice(space + 1)]
        if (!sealer.verifies(mac, `${last} ${json}`)) {
          throw bad('STORE_CORRUPT', `line ${i + 1} is not what was written; put it back`)
        }
        last = mac
        yield JSON.parse(json)
      }
    },
    /** @param {unknown} entries */
    append(entries) {
      const json = JSON.stringify(entries)
      const mac = sealer.witness(`${last} ${json}`)
      try {
        fs.appendFileSync(fd, `${mac} ${json}\n`)
        fs.fsyncSync(fd)
        last = mac
      } catch (error) {
        // Nobody knows how much of it is there: what is opened again sees it.
        closed = bad('STORE_IO', `a write failed: ${error}; open it again`)
        throw closed
      }
    },
    check() {
      if (closed) throw closed
    },
    close() {
      closed ??= bad('STORE_CLOSED', 'this store is closed')
      fs.closeSync(fd)
      fs.rmSync(lock, { force: true })
    },
  }
}

/**
 * @param {string} lock
 * @param {(pid: number) => Error} taken
 * @returns {string}
 */
function takeLock(lock, taken) {
  try {
    fs.writeFileSync(lock, String(process.pid), { flag: 'wx' })
    return lock
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error
  }
  const pid = Number(fs.readFileSync(lock, 'utf8'))
  if (isAlive(pid)) throw taken(pid)
  // Its process was killed.
  fs.rmSync(lock, { force: true })
  return takeLock(lock, taken)
}

/** @param {unknown} error */
const codeOf = (error) => /** @type {NodeJS.ErrnoException} */ (error).code

/** @param {number} pid */
function isAlive(pid) {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return codeOf(error) === 'EPERM'
  }
}

/** @param {string} path */
function keyBeside(path) {
  const file = `${path}.key`
  if (!fs.existsSync(file)) {
    // Lines without their key cannot be trusted, and must not be signed anew.
    if (fs.existsSync(path)) throw new CounterfoilError('STORE_KEY_MISSING', `${file} is missing`)
    fs.writeFileSync(file, randomBytes(32).toString('hex'), { mode: 0o600, flush: true })
  }
  return { id: 'k1', secret: Buffer.from(fs.readFileSync(file, 'utf8'), 'hex') }
}

/**
 * A file whose name is not on disk is lost in a power cut.
 * @param {string} path
 */
function syncFolder(path) {
  if (process.platform === 'win32') return
  const folder = fs.openSync(dirname(path), 'r')
  fs.fsyncSync(folder)
  fs.closeSync(folder)
}
