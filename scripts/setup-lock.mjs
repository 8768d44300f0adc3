// The lock of the set-up: one at a time in a folder, and none for ever after a kill.
//
// owns        .setup-lock/, a directory whose owner.json says who holds it
// invariants
//   1. Whoever made the directory holds the lock.
//   2. It is stale only when its owner and the whole process group that the owner noted are gone.
import * as fs from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'

const POLL_MS = 200
const WAIT_MAX_MS = 20 * 60_000
// A lock of another machine (a shared folder, a container) cannot be judged by its process id: the
// owner touches it every beat, and silence for this long means that the owner is gone.
const BEAT_MS = 2_000
const SILENCE_MAX_MS = 60_000

// In a container whose first process does not reap, the dead keep their id and group for ever.
const ZOMBIE = 'Z'

export const POSIX = process.platform !== 'win32'

/**
 * @typedef {object} Owner
 * @property {string} token unique to one set-up
 * @property {string} host
 * @property {number} pid
 * @property {string} started when the process did, by the kernel
 * @property {number} [child] the process group that works for it
 */

export class SetupLock {
  #token = `${process.pid}-${Math.random().toString(36).slice(2)}`

  /** @param {string} folder */
  constructor(folder) {
    this.folder = folder
    /** @type {number | undefined} */
    this.child = undefined
  }

  /**
   * Waits until the lock is ours; false if it took too long.
   * @param {(pid: number | string) => void} onWait
   */
  async take(onWait) {
    const startedMs = Date.now()
    for (let polls = 0; !this.#make(); ) {
      const owner = readOwner(this.folder)
      if (this.#isStale(owner)) {
        this.#moveAside(owner)
        continue
      }
      if (polls++ === 0) onWait(owner?.pid ?? 'unknown')
      if (Date.now() - startedMs > WAIT_MAX_MS) return false
      await new Promise((resolve) => setTimeout(resolve, POLL_MS))
    }
    setInterval(() => this.#touch(), BEAT_MS).unref()
    return true
  }

  /**
   * Notes the process group that works for us, or that there is none.
   * @param {number | undefined} pid
   */
  noteChild(pid) {
    this.child = pid
    this.#writeOwner()
  }

  release() {
    if (this.#isOurs()) fs.rmSync(this.folder, { recursive: true, force: true })
  }

  #make() {
    try {
      fs.mkdirSync(this.folder)
    } catch (error) {
      if (codeOf(error) === 'EEXIST') return false
      throw error
    }
    this.#writeOwner()
    fs.writeFileSync(join(this.folder, '.gitignore'), '*\n')
    return true
  }

  #writeOwner() {
    const pid = process.pid
    /** @type {Owner} */
    const owner = { token: this.#token, host: hostname(), pid, started: startOf(pid) }
    if (this.child !== undefined) owner.child = this.child
    // By rename, because a reader must never see half of it.
    const path = join(this.folder, 'owner.json')
    fs.writeFileSync(`${path}.${this.#token}`, JSON.stringify(owner))
    fs.renameSync(`${path}.${this.#token}`, path)
  }

  #isOurs() {
    return readOwner(this.folder)?.token === this.#token
  }

  #touch() {
    const now = new Date()
    if (this.#isOurs()) fs.utimesSync(this.folder, now, now)
  }

  /** @param {Owner | undefined} owner */
  #isStale(owner) {
    const touchedMs = fs.statSync(this.folder, { throwIfNoEntry: false })?.mtimeMs
    if (touchedMs === undefined) return false
    // No owner: killed between mkdir and the first write, or in the middle of it just now.
    if (!owner || owner.host !== hostname()) return Date.now() - touchedMs > SILENCE_MAX_MS
    if (isAlive(owner.pid) && startOf(owner.pid) === owner.started) return false
    return owner.child === undefined || !isGroupAlive(owner.child)
  }

  // Two may find the same stale lock, and the slower one must not remove the lock that the faster
  // one has taken since: so it is moved aside, looked at again, and put back if it is another's.
  /** @param {Owner | undefined} judged */
  #moveAside(judged) {
    const aside = `${this.folder}.${this.#token}`
    try {
      fs.renameSync(this.folder, aside)
    } catch {
      return
    }
    if (readOwner(aside)?.token === judged?.token) {
      fs.rmSync(aside, { recursive: true, force: true })
    } else {
      fs.renameSync(aside, this.folder)
    }
  }
}

/** @param {unknown} error */
function codeOf(error) {
  return /** @type {NodeJS.ErrnoException} */ (error).code
}

/** @param {string} path */
function read(path) {
  try {
    return fs.readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

/**
 * @param {string} folder
 * @returns {Owner | undefined}
 */
function readOwner(folder) {
  const text = read(join(folder, 'owner.json'))
  return text === undefined ? undefined : JSON.parse(text)
}

/** @param {number} pid */
export function isAlive(pid) {
  try {
    process.kill(pid, 0)
    return pid < 0 || procStat(pid)[0] !== ZOMBIE
  } catch (error) {
    return codeOf(error) === 'EPERM'
  }
}

/**
 * A negative id means the whole process group.
 * @param {number} pid
 */
export function groupOf(pid) {
  return POSIX ? -pid : pid
}

/** @param {number} pid */
function isGroupAlive(pid) {
  if (!isAlive(groupOf(pid))) return false
  if (process.platform !== 'linux') return true
  const pids = fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids.map(procStat).some(([state, , group]) => group === String(pid) && state !== ZOMBIE)
}

// Process ids are used again, soon so in containers; with the time of its start one is unique.
/** @param {number} pid */
function startOf(pid) {
  return procStat(pid)[19] ?? ''
}

// The fields of /proc/<pid>/stat from the third on: state, parent, group and so on.
/** @param {number | string} pid */
function procStat(pid) {
  const stat = read(`/proc/${pid}/stat`)
  return stat?.slice(stat.lastIndexOf(')') + 2).split(' ') ?? []
}
