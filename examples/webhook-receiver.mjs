// Receives the webhooks of a Counterfoil server: verifies them, takes each once, answers at once.
//
//   WEBHOOK_SECRET=whsec_… node examples/webhook-receiver.mjs
//
// A delivery comes at least once: after a crash of the sender, or an answer that was lost, it comes
// again under the same webhook-id. So remember the ids that you have taken; here, in memory.
import { createServer } from 'node:http'
import { Webhook } from 'standardwebhooks'

const { WEBHOOK_SECRET: secret, PORT = '8787' } = process.env
if (!secret) throw new Error('set WEBHOOK_SECRET to what `counterfoil webhook add` printed')
const webhook = new Webhook(secret)
const taken = new Set()

const server = createServer(async (request, response) => {
  const parts = []
  for await (const part of request) parts.push(part)
  const headers = /** @type {Record<string, string>} */ (request.headers)
  try {
    // The bytes as they came: whoever parses first verifies something else.
    const message = /** @type {any} */ (webhook.verify(Buffer.concat(parts), headers))
    response.writeHead(204).end()
    tell(headers['webhook-id'], message)
  } catch {
    response.writeHead(401).end()
  }
})

/**
 * @param {string | undefined} id
 * @param {{ type: string, data: Record<string, string> }} message
 */
function tell(id, { type, data }) {
  if (taken.has(id)) return console.log(`again: ${id}`)
  taken.add(id)
  console.log(`${type}: ${data['title'] ?? data['run_id']} -> ${data['url']}`)
}

server.listen(Number(PORT), '127.0.0.1', () => {
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  console.log(`listening on http://127.0.0.1:${port}`)
})
