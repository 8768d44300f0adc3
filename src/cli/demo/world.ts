// What the demo's agents do to the world, which is a folder: the address of the mail server, its
// outbox, and the orders. Both engines use the same functions, so that they differ in nothing but
// what they remember.
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { NotSentError } from '../../model/errors.ts'
import type { Effect } from './message.ts'

export interface Email {
  readonly to: string
  readonly subject: string
}

/** An e-mail that the mail server has taken. */
export interface Sent extends Email {
  readonly messageId: string
}

/** Where the demo's processes find their world. */
export const folderVariable = 'COUNTERFOIL_DEMO_FOLDER'

export function ownFolder(): string {
  const folder = process.env[folderVariable]
  if (folder !== undefined) return folder
  throw new NotSentError(`${folderVariable} does not say where the demo is`)
}

export const storeOf = (folder: string) => `sqlite:${join(folder, 'counterfoil.db')}`
export const stateFile = (folder: string) => join(folder, 'state.json')
export const outboxOf = (folder: string) => join(folder, 'outbox.jsonl')
export const effectsOf = (folder: string) => join(folder, 'effects.jsonl')
export const mailUrlFile = (folder: string) => join(folder, 'mail-url')

export function readContext(customer: string) {
  return { customer, address: `orders@${customer}.example`, reordersEvery: '30 days' }
}

export function planOrder(context: { customer: string; address: string }) {
  const email = { to: context.address, subject: 'Your paper order' }
  return { email, order: `40 boxes of paper for ${context.customer}` }
}

/** Not idempotent: what is posted twice is sent twice. */
export async function sendEmail(folder: string, email: Email): Promise<{ messageId: string }> {
  const url = readFileSync(mailUrlFile(folder), 'utf8')
  let response: Response
  try {
    response = await fetch(url, { method: 'POST', body: JSON.stringify(email) })
  } catch (error) {
    const { code } = ((error as Error).cause ?? {}) as { code?: string }
    // Nobody listens: nothing can have been sent. Any other error leaves that open.
    if (code !== 'ECONNREFUSED') throw error
    throw new NotSentError('the mail server is gone; it ends with the demo', { cause: error })
  }
  return (await response.json()) as { messageId: string }
}

/** Idempotent: the key names the file, and a second order with it finds the first. */
export function fileOrder(folder: string, key: string, order: string): { number: string } {
  const number = `ORD-${key}`
  const path = join(folder, 'orders', `${number}.json`)
  mkdirSync(join(folder, 'orders'), { recursive: true })
  if (!existsSync(path)) appendSynced(path, { number, order })
  return { number }
}

/** One more line, on the disk before this returns. */
export function appendSynced(path: string, row: unknown): void {
  const fd = openSync(path, 'a')
  try {
    writeSync(fd, `${JSON.stringify(row)}\n`)
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

export const readOutbox = (folder: string) => readRows<Sent>(outboxOf(folder))
export const readEffects = (folder: string) => readRows<Effect>(effectsOf(folder))

function readRows<T>(path: string): T[] {
  if (!existsSync(path)) return []
  const lines = readFileSync(path, 'utf8').split('\n').filter(Boolean)
  return lines.map((line) => JSON.parse(line) as T)
}
