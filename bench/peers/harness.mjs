// Stores that are made and taken away, and children that do jobs and are killed.
import { fork } from 'node:child_process'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'
import { now } from './numbers.mjs'

/** @typedef {import('./workload.mjs').Job} Job */
/** @typedef {import('./postgres.mjs').Postgres} Postgres */
/**
 * @typedef {object} Store
 * @property {any} env
 * @property {() => Promise<number>} bytes
 * @property {() => Promise<number>} [logBytes]
 * @property {() => Promise<number>} [syncs]
 * @property {() => string} [operatorLog]
 * @property {() => Promise<void>} [close]
 */
/**
 * @typedef {object} Opened
 * @property {(ids: string[]) => Promise<unknown>} start
 * @property {(ids: string[]) => Promise<unknown>} resume
 * @property {(ids: string[]) => Promise<string[]>} [look]
 * @property {() => unknown} [close]
 * @property {object | undefined} [facts]
 */
/**
 * See systems/README.md.
 * @typedef {object} System
 * @property {string} about
 * @property {'sqlite' | 'postgres'} floor
 * @property {boolean} durable
 * @property {string[]} packages
 * @property {'22'} [node]
 * @property {number} [stepsMax]
 * @property {number} [leaseSeconds]
 * @property {string[]} [tests]
 * @property {string} [once]
 * @property {() => string | null} [unavailable]
 * @property {(of: { dir: string, label: string, postgres: Postgres, test: string }) => Promise<Store>} createStore
 * @property {(env: any, work: import('./workload.mjs').Work) => Promise<Opened>} open
 */
/** @typedef {System & { name: string, file: string, execPath: string }} Named */
/**
 * @typedef {object} Done
 * @property {number} startedAt
 * @property {number} doneAt
 * @property {number[]} begun When each step of the last round began.
 * @property {number[]} [cold] The same for the first, if there were more.
 * @property {any} [told]
 * @property {object} [facts]
 */
/**
 * @typedef {object} Ended
 * @property {number} spawnedAt
 * @property {any[]} events
 * @property {Done | undefined} done
 * @property {string} how A signal, or an exit code.
 * @property {string} output
 */

const child = fileURLToPath(new URL('./child.mjs', import.meta.url))
const here = fileURLToPath(new URL('.', import.meta.url))
const jobMsMax = 420_000

/**
 * One process, one job. It is killed when it says `killOn`.
 * @param {Named} system
 * @param {Omit<Job, 'system'>} job
 * @param {string} cwd
 * @param {{ killOn?: string, mayDie?: boolean }} [how]
 * @returns {Promise<Ended>}
 */
export function runJob(system, job, cwd, { killOn, mayDie = killOn !== undefined } = {}) {
  return new Promise((resolve, reject) => {
    const spawnedAt = now()
    const told = JSON.stringify({ system: system.name, file: system.file, ...job })
    const env = { ...process.env, DO_NOT_TRACK: '1', SCARF_ANALYTICS: 'false' }
    const options = { execPath: system.execPath, execArgv: [], silent: true, cwd, env }
    const running = fork(child, [told], options)
    /** @type {any[]} */
    const events = []
    let output = ''
    for (const stream of [running.stdout, running.stderr]) {
      stream?.on('data', (chunk) => {
        output += chunk
      })
    }
    running.on('message', (/** @type {any} */ event) => {
      events.push(event)
      if (event.event === killOn) running.kill('SIGKILL')
    })
    const limit = setTimeout(() => running.kill('SIGKILL'), jobMsMax)
    running.once('close', (code, signal) => {
      clearTimeout(limit)
      const done = events.find((each) => each.event === 'done')
      const how = signal ?? String(code)
      const said = tidy(output, cwd)
      if (done === undefined && !mayDie) {
        reject(new Error(`${system.name}, ${job.mode}: ended by ${how}: ${said.slice(-600)}`))
      } else resolve({ spawnedAt, events, done, how, output: said })
    })
  })
}

/**
 * What a program printed, without what is of this machine.
 * @param {string} text
 * @param {string} dir
 */
export function tidy(text, dir) {
  return stripVTControlCharacters(text)
    .replaceAll(dir, '<data>')
    .replaceAll(here, '')
    .replaceAll(/127\.0\.0\.1:\d+/g, '127.0.0.1:<port>')
    .replaceAll(/\(node:\d+\)/g, '(node)')
    .trim()
}

let stores = 0

/**
 * @template T
 * @param {{ dir: string, postgres: Postgres }} place
 * @param {Named} system
 * @param {string} test
 * @param {(store: Store, dir: string) => Promise<T>} use
 */
export async function withStore(place, system, test, use) {
  const label = `${system.name}_${test}_${++stores}`
  const dir = join(place.dir, label)
  mkdirSync(dir)
  const store = await system.createStore({ dir, label, postgres: place.postgres, test })
  try {
    return await use(store, dir)
  } finally {
    await store.close?.()
    rmSync(dir, { recursive: true, force: true, maxRetries: 5 })
  }
}
