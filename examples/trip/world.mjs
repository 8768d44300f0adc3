// The world outside: a model, an airline, a hotel, a bank, a car rental, a mail server and a
// calendar, in one small server that counts what it is asked for and what it has done.
import { once } from 'node:events'
import { createServer } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'

/**
 * @typedef {'model' | 'flights' | 'hold' | 'hotel' | 'charge' | 'car' | 'mail' | 'calendar' |
 *   'cancel' | 'refund'} Service
 * @typedef {{ service: Service, run: string, key: string | null, reference: string | null,
 *   body: any, result: any, repeated: boolean, at: number }} Request
 */

/** Which of them drop a repetition by its key; the others do again whatever they are asked. */
const remembers = ['hold', 'hotel', 'charge', 'calendar']
const modelMs = 150
const otherMs = 40

/**
 * The bank keeps its fee when a charge is given back.
 * @param {number} usd
 */
export const feeOf = (usd) => Math.round((usd * 0.029 + 0.3) * 100) / 100

/**
 * What the services answer with: facts of a trip, and ids that show what was done twice.
 * @param {Service} service
 * @param {number} number
 * @param {any} body
 */
function answer(service, number, body) {
  const tokens = { tokensIn: 1_400 + 350 * (body.step ?? 0), tokensOut: 180 }
  const facts = {
    model: { ...tokens, say: `step ${body.step}` },
    flights: {
      offers: [
        { flight: 'CF 101', usd: 612.4 },
        { flight: 'CF 303', usd: 640 },
      ],
    },
    hold: { hold: `hold-${number}` },
    hotel: { room: `room-${number}`, usd: 540 },
    charge: { charge: `charge-${number}` },
    car: { car: `car-${number}`, usd: 168 },
    mail: { messageId: `mail-${number}` },
    calendar: { event: `event-${number}` },
    cancel: { cancelled: body.what },
    refund: { refunded: body.what },
  }
  return facts[service]
}

export class World {
  /** @type {Request[]} */
  log = []
  /**
   * Asked when a request has been done and before it is answered; true: it is never answered.
   * @type {(service: string) => boolean}
   */
  swallow = () => false
  #server = createServer((request, response) => void this.#serve(request, response))

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

  /** @param {Service} service */
  asked(service) {
    return this.log.filter((one) => one.service === service)
  }

  /**
   * What really happened, as against what was asked for.
   * @param {Service} service
   */
  done(service) {
    return this.asked(service).filter((one) => !one.repeated)
  }

  /**
   * @param {import('node:http').IncomingMessage} request
   * @param {import('node:http').ServerResponse} response
   */
  async #serve(request, response) {
    const service = request.url?.slice(1) ?? ''
    const chunks = []
    for await (const chunk of request) chunks.push(chunk)
    const body = JSON.parse(Buffer.concat(chunks).toString())
    const { headers } = request
    const key = headers['idempotency-key']?.toString() ?? null
    const reference = headers['x-reference']?.toString() ?? null
    const run = headers['x-run']?.toString() ?? ''
    const result =
      service === 'bookings'
        ? this.#find(body.reference)
        : this.#do(/** @type {Service} */ (service), { run, key, reference, body })
    if (this.swallow(service)) return
    await pause(service === 'model' ? modelMs : otherMs)
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(result))
  }

  /**
   * @param {Service} service
   * @param {Pick<Request, 'run' | 'key' | 'reference' | 'body'>} request
   */
  #do(service, { run, key, reference, body }) {
    const keyed = remembers.includes(service) && key !== null
    const known = keyed ? this.asked(service).find((one) => one.key === key) : undefined
    const result = known ? known.result : answer(service, this.done(service).length + 1, body)
    const repeated = known !== undefined
    this.log.push({ service, run, key, reference, body, result, repeated, at: Date.now() })
    return result
  }

  /**
   * The car rental has no keys, but its bookings can be searched for the customer's reference.
   * @param {string} reference
   */
  #find(reference) {
    return this.asked('car').find((one) => one.reference === reference)?.result ?? null
  }
}
