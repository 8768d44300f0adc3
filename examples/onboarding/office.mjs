// The world outside: a mail server, a model, sanctions lists, the accounts, the purchasing system and
// the directory, in one small server. Each effect is on the disk before anything else happens, so
// that a count of them can be believed whoever is killed.
//
//   node examples/onboarding/office.mjs <log file>   in a process of its own; says its URL
import { once } from 'node:events'
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs'
import { createServer } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

/** @typedef {{ service: string, run: string, reference: string, key: string, result: any }} Effect */

/** Asking these changes nothing. */
const reads = ['model', 'sanctions', 'issued']
const slowMs = Number(process.env['ONBOARDING_SLOW_MS'] ?? 150)

/**
 * @param {string} log
 * @returns {Effect[]}
 */
export function effectsIn(log) {
  if (!existsSync(log)) return []
  const lines = readFileSync(log, 'utf8').split('\n').filter(Boolean)
  return lines.map((line) => JSON.parse(line))
}

/**
 * Which effects of a run were done more than once.
 * @param {Effect[]} effects
 */
export function twice(effects) {
  const counts = new Map()
  for (const { service, run, result } of effects) {
    // A second reminder is meant: it asks for another round.
    const what = `${service} of ${run}${result.round ? `, round ${result.round}` : ''}`
    counts.set(what, (counts.get(what) ?? 0) + 1)
  }
  return [...counts].filter(([, count]) => count > 1).map(([what]) => what)
}

export class Office {
  /**
   * Told of each effect, before it is answered.
   * @type {(effect: Effect) => void}
   */
  onEffect = () => {}
  #log
  #server = createServer((request, response) => void this.#serve(request, response))

  /** @param {string} log */
  constructor(log) {
    this.#log = log
  }

  async open() {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    const address = this.#server.address()
    return `http://127.0.0.1:${typeof address === 'object' ? address?.port : address}`
  }

  close() {
    this.#server.closeAllConnections()
    return new Promise((resolve) => this.#server.close(resolve))
  }

  /**
   * @param {import('node:http').IncomingMessage} request
   * @param {import('node:http').ServerResponse} response
   */
  async #serve(request, response) {
    const chunks = []
    for await (const chunk of request) chunks.push(chunk)
    const body = JSON.parse(Buffer.concat(chunks).toString())
    const header = (/** @type {string} */ name) => request.headers[name]?.toString() ?? ''
    const service = request.url?.slice(1) ?? ''
    const asked = { service, run: header('x-run'), reference: header('x-reference') }
    const result = reads.includes(service)
      ? this.#look(service, body)
      : this.#do({ ...asked, key: header('idempotency-key') }, body)
    // The work is done; the answer takes a while. A kill falls in between.
    await pause(slowMs)
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(result))
  }

  /**
   * @param {string} service
   * @param {any} body
   */
  #look(service, body) {
    if (service === 'sanctions') return { hits: [] }
    if (service === 'issued') {
      const issued = effectsIn(this.#log).filter((one) => one.service === 'credentials')
      return issued.find((one) => one.reference === body.reference)?.result ?? null
    }
    const [legalName = '', taxId = ''] = String(body.text).split(', ')
    return { legalName, taxId }
  }

  /**
   * @param {Omit<Effect, 'result'>} asked
   * @param {any} body
   */
  #do(asked, body) {
    const effects = effectsIn(this.#log)
    const known = effects.find((one) => asked.key !== '' && one.key === asked.key)
    if (known) return known.result
    const number = effects.filter((one) => one.service === asked.service).length + 1
    const result = answer(asked.service, number, body)
    const effect = { ...asked, result }
    append(this.#log, effect)
    this.onEffect(effect)
    return result
  }
}

/**
 * @param {string} service
 * @param {number} number
 * @param {any} body
 */
function answer(service, number, body) {
  if (service === 'mail') return { messageId: `mail-${number}`, round: body.round }
  if (service === 'vendor') return { vendorId: `V-${1000 + number}` }
  if (service === 'order') return { number: `PO-${8400 + number}`, usd: body.usd }
  return { user: `vendor-${number}` }
}

/**
 * One more line, on the disk before this returns.
 * @param {string} path
 * @param {unknown} row
 */
function append(path, row) {
  const fd = openSync(path, 'a')
  try {
    writeSync(fd, `${JSON.stringify(row)}\n`)
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const office = new Office(process.argv[2] ?? 'effects.jsonl')
  process.on('disconnect', () => process.exit(0))
  const url = await office.open()
  if (process.send) process.send({ url })
  else console.log(url)
}
