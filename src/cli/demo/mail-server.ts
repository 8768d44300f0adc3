// A process of its own: a mail server that appends every e-mail it takes to its outbox, syncs it,
// tells the demo that it has, and only then answers. The answer takes a while, as answers over a
// network do: that is the gap in which the demo kills the sender.
import { writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pause, randomHex, systemClock } from '../../clock.ts'
import { tellDemo } from './message.ts'
import { appendSynced, mailUrlFile, outboxOf, ownFolder } from './world.ts'

const answerMs = 300
// The first answer is slower still, so that the kill lands in the gap on a busy machine too; a
// sender that is dead by then is not waited for.
const firstAnswerMs = 5_000

const folder = ownFolder()
let taken = 0

async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let body = ''
  for await (const chunk of request) body += chunk
  const first = ++taken === 1
  const messageId = `msg-${randomHex(4)}`
  appendSynced(outboxOf(folder), { messageId, ...JSON.parse(body) })
  const gone = new Promise<void>((resolve) => {
    response.once('close', resolve)
  })
  tellDemo({ kind: 'accepted', messageId })
  await Promise.race([pause(systemClock, first ? firstAnswerMs : answerMs), gone])
  response.writeHead(202, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ messageId }))
}

const server = createServer((request, response) => {
  take(request, response).catch((error) => {
    response.writeHead(500).end(String(error))
  })
})
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo
  writeFileSync(mailUrlFile(folder), `http://127.0.0.1:${port}/send`)
  tellDemo({ kind: 'listening' })
})
