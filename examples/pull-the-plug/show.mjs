// One side of the comparison: the agent is started, its plug is pulled (SIGKILL) as soon as the
// vendor has the order in its book, and it is started again. What the book says is counted.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** @typedef {{ order: string, vendor: string, item: string, usd: number }} Order */
/** @typedef {{ itemId: string, title: string }} Doubt */
/**
 * @typedef {object} Hooks
 * @property {(line: string) => void} [say]
 * @property {(order: Order) => void} [onOrder] as the vendor takes it
 * @property {(doubt: Doubt, orders: Order[]) => unknown} [onDoubt] for whoever decides
 * @property {AbortSignal} [signal] ends everything
 */

/**
 * @param {'plain' | 'guarded'} side
 * @param {{ folder: string, args: string[] }} where
 * @param {Hooks} hooks
 */
export async function show(side, { folder, args }, hooks = {}) {
  const { say = () => {}, onDoubt = () => {}, onOrder = () => {}, signal } = hooks
  const book = join(folder, `${side}-orders.jsonl`)
  const erp = run('erp.mjs', [book], {}, signal)
  erp.child.on('message', (message) => {
    const { kind, ...order } = /** @type {any} */ (message)
    if (kind === 'ordered') onOrder(order)
  })
  try {
    const { url } = await Promise.race([erp.says('open'), erp.failed])
    const begin = () => run(`${side}.mjs`, args, { PLUG_ERP: url }, signal)
    const first = begin()
    const ordered = await Promise.race([erp.says('ordered'), first.failed])
    say(`the vendor takes ${ordered.order}: ${ordered.item} for ${dollars(ordered.usd)}`)
    const killed = await kill(first.child)
    say(`kill -9 ${first.child.pid}: ended by ${killed}`)
    const second = begin()
    say(`process ${second.child.pid} goes on with the thread`)
    /** @type {Doubt[]} */
    const doubts = []
    for (;;) {
      const heard = await Promise.race([second.says('done', 'doubt'), second.failed])
      const orders = ordersIn(book)
      if (heard.kind === 'done') {
        for (const { order } of orders.slice(1)) say(`the vendor takes ${order}: the same again`)
        say(`the agent says: ${heard.said}`)
        return { orders, doubts, signal: killed, said: heard.said }
      }
      const { itemId, title } = heard
      doubts.push({ itemId, title })
      say(`not sent again; a person is asked: ${title}`)
      await onDoubt({ itemId, title }, orders)
    }
  } finally {
    if (erp.child.connected) erp.child.disconnect()
  }
}

/**
 * The system's word for how it ended.
 * @param {import('node:child_process').ChildProcess} child
 * @returns {Promise<string>}
 */
async function kill(child) {
  const exit = once(child, 'exit')
  child.kill('SIGKILL')
  const [, signal] = await exit
  return signal
}

/**
 * A process that ends with this one.
 * @param {string} script
 * @param {string[]} args
 * @param {Record<string, string>} env
 * @param {AbortSignal} [signal]
 */
function run(script, args, env, signal) {
  const path = fileURLToPath(new URL(`./${script}`, import.meta.url))
  const child = spawn(process.execPath, [path, ...args], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
  })
  let complaint = ''
  child.stderr?.on('data', (chunk) => {
    complaint += chunk
  })
  /** @type {any[]} */
  const heard = []
  let wake = () => {}
  child.on('message', (message) => {
    heard.push(message)
    wake()
  })
  /** @param {string[]} kinds @returns {Promise<any>} */
  const says = (...kinds) =>
    new Promise((resolve) => {
      wake = () => {
        const at = heard.findIndex(({ kind }) => kinds.includes(kind))
        if (at >= 0) resolve(heard.splice(at, 1)[0])
      }
      wake()
    })
  const failed = new Promise((_, reject) => {
    child.on('exit', (code) => {
      if (code) reject(new Error(`${script} ended with code ${code}: ${complaint.trim()}`))
      if (signal?.aborted) reject(new Error(`${script} was ended`))
    })
  })
  failed.catch(() => {})
  const end = () => child.kill('SIGKILL')
  signal?.addEventListener('abort', end)
  child.on('exit', () => signal?.removeEventListener('abort', end))
  return { child, says, failed }
}

/** @param {string} book @returns {Order[]} */
function ordersIn(book) {
  const lines = readFileSync(book, 'utf8').trim().split('\n')
  return lines.filter(Boolean).map((line) => JSON.parse(line))
}

/** @param {number} usd */
export function dollars(usd) {
  return `$${usd.toLocaleString('en-US')}`
}
