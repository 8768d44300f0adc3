// A process of its own: everything that the agents of the live demo do to the world. It counts what
// it has done, tells the demo, and only then answers; it is never killed, so its word counts.
import { writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { pause, randomHex, systemClock } from '../../../clock.ts'
import { type Effect, tellDemo } from '../message.ts'
import { appendSynced, effectsOf, mailUrlFile, outboxOf, ownFolder } from '../world.ts'
import { example } from './agents.ts'

interface Office {
  onEffect: (effect: { service: string; run: string; result: { round?: number } }) => void
  open(): Promise<string>
}

interface World {
  log: { service: string; run: string; result: unknown; repeated: boolean }[]
  swallow: (service: string) => boolean
  open(): Promise<string>
}

/** Asking these changes nothing. */
const reads = ['model', 'flights', 'bookings']
const mailMs = 400
const folder = ownFolder()

function tell(effect: Omit<Effect, 'at'>): void {
  const at = systemClock.now()
  appendSynced(effectsOf(folder), { ...effect, at })
  tellDemo({ kind: 'effect', effect: { ...effect, at } })
}

async function openOffice(): Promise<string> {
  const path = 'onboarding/office.mjs'
  const { Office } = await example<{ Office: new (log: string) => Office }>(path)
  const office = new Office(join(folder, 'office.jsonl'))
  // A second request for a form is meant: it is of another round.
  office.onEffect = ({ service, run, result }) =>
    tell({ agent: 'onboarding', service, run, what: `${service} ${result.round ?? ''}`, result })
  return office.open()
}

async function openWorld(): Promise<string> {
  const { World } = await example<{ World: new () => World }>('trip/world.mjs')
  const world = new World()
  // Asked when a request has been done, and before it is answered.
  world.swallow = (service) => {
    const last = world.log.at(-1)
    if (last && last.service === service && !last.repeated && !reads.includes(service)) {
      tell({ agent: 'trip', service, run: last.run, what: service, result: last.result })
    }
    return false
  }
  return world.open()
}

async function takeMail(request: IncomingMessage): Promise<{ messageId: string }> {
  let body = ''
  for await (const chunk of request) body += chunk
  const email = JSON.parse(body) as { to: string }
  const messageId = `msg-${randomHex(4)}`
  appendSynced(outboxOf(folder), { messageId, ...email })
  const result = { messageId }
  tell({ agent: 'outreach', service: 'mail', run: email.to, what: 'mail', result })
  await pause(systemClock, mailMs)
  return { messageId }
}

function openMail(): Promise<void> {
  const server = createServer((request, response) => {
    takeMail(request).then(
      (answer) => {
        response.writeHead(202, { 'content-type': 'application/json' })
        response.end(JSON.stringify(answer))
      },
      (error) => response.writeHead(500).end(String(error)),
    )
  })
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo
      writeFileSync(mailUrlFile(folder), `http://127.0.0.1:${port}/send`)
      resolve()
    })
  })
}

await openMail()
const env = { ONBOARDING_OFFICE: await openOffice(), TRIP_WORLD: await openWorld() }
tellDemo({ kind: 'open', env })
