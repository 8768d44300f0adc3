// The world of the agents: an archive that knows keys, a mail server that does not, and things to
// read. It counts what it was asked for and what it has done.
import { once } from 'node:events'
import { createServer } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'

/**
 * @typedef {{ service: 'read' | 'file' | 'mail', agent: string, n: number, key: string | null,
 *   attemptId: string, id: string, repeated: boolean, at: number }} Asked
 */

const answerMs = 15

export class Upstream {
  /** @type {Asked[]} */
  log = []
  /**
   * Told when a step is done, before it is answered; true: it is never answered.
   * @type {(steps: number) => boolean}
   */
  onStep = () => false
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

  /** Steps that were done at least once. */
  get steps() {
    return new Set(this.log.map(nameOf)).size
  }

  /** Steps that changed something more than once. */
  get duplicates() {
    const changes = this.log.filter((one) => one.service !== 'read' && !one.repeated).map(nameOf)
    return changes.length - new Set(changes).size
  }

  /**
   * @param {import('node:http').IncomingMessage} request
   * @param {import('node:http').ServerResponse} response
   */
  async #serve(request, response) {
    const chunks = []
    for await (const chunk of request) chunks.push(chunk)
    const asked = JSON.parse(Buffer.concat(chunks).toString())
    const known = asked.key === null ? undefined : this.log.find((one) => one.key === asked.key)
    const id = known?.id ?? `${asked.service}-${this.log.length + 1}`
    this.log.push({ ...asked, id, repeated: known !== undefined, at: Date.now() })
    if (this.onStep(this.steps)) return
    await pause(answerMs)
    response.end(JSON.stringify({ id }))
  }
}

/** @param {Asked} asked */
function nameOf({ agent, n }) {
  return `${agent}/${n}`
}
