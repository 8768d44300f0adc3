// One request to a receiver: to a vetted address, without redirects, within a time, and with no
// more of the answer read than is needed.
import { request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { Clock } from '../../clock.ts'
import { type AddressRules, checkLiteral, forbidden, guardedLookup, isPrivate } from './address.ts'

/** The whole exchange; a receiver that needs longer should answer first and work then. */
export const timeoutMs = 15_000
/** Of the answer, for whoever looks why it was refused. */
const answerBytesMax = 2_048

export interface Sent {
  readonly status: number
  /** The beginning of what it said. */
  readonly answer: string
}

export interface SendRules extends AddressRules {
  readonly clock: Clock
  readonly timeoutMs?: number
}

/** Rejects if no answer came; whatever the answer, it is given. */
export function send(
  url: string,
  body: string,
  headers: Readonly<Record<string, string>>,
  rules: SendRules,
): Promise<Sent> {
  const { protocol, hostname } = new URL(url)
  return new Promise((resolve, reject) => {
    checkLiteral(hostname, rules)
    const make = protocol === 'https:' ? httpsRequest : httpRequest
    const request = make(url, {
      method: 'POST',
      agent: false,
      lookup: guardedLookup(rules),
      headers: { ...headers, 'content-length': `${Buffer.byteLength(body)}` },
    })
    const limitMs = rules.timeoutMs ?? timeoutMs
    const cancel = rules.clock.after(limitMs, () =>
      request.destroy(new Error(`no answer within ${limitMs} ms`)),
    )
    const end = (settle: () => void) => {
      cancel()
      settle()
      request.destroy()
    }
    request.on('error', (error) => end(() => reject(error)))
    // Whatever led here: what counts is the address at the other end, before a byte is sent to it.
    request.on('socket', (socket) =>
      socket.once('connect', () => {
        const { remoteAddress = '' } = socket
        if (rules.allowPrivate || !isPrivate(remoteAddress)) return
        request.destroy(forbidden(hostname, remoteAddress))
      }),
    )
    request.on('response', (response) => {
      const parts: Buffer[] = []
      let length = 0
      const done = () =>
        end(() => {
          const answer = Buffer.concat(parts).subarray(0, answerBytesMax).toString('utf8')
          resolve({ status: response.statusCode ?? 0, answer })
        })
      response.on('data', (part: Buffer) => {
        parts.push(part)
        length += part.length
        if (length >= answerBytesMax) done()
      })
      response.on('end', done)
      response.on('error', (error) => end(() => reject(error)))
    })
    request.end(body)
  })
}
