// The vendor's side, a process of its own that is never killed: it writes each purchase order down,
// synced, tells whoever started it, and only then answers, after a while. What it has in its book
// is what has happened.
import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs'
import { createServer } from 'node:http'

const [, , book = '', answerMs = '5000'] = process.argv
const file = openSync(book, 'a')
let number = 0

/** @type {Record<string, (body: any) => unknown>} */
const services = {
  quote: ({ item }) => ({ vendor: 'Acme Servers', item, usd: 84_000 }),
  orders: (order) => {
    number += 1
    const taken = { order: `PO-${number}`, ...order }
    writeSync(file, `${JSON.stringify(taken)}\n`)
    fsyncSync(file)
    process.send?.({ kind: 'ordered', ...taken })
    return { order: taken.order }
  },
}

const server = createServer(async (request, response) => {
  let body = ''
  for await (const chunk of request) body += chunk
  const service = request.url?.slice(1) ?? ''
  const answer = services[service]?.(JSON.parse(body))
  const gone = new Promise((resolve) => response.once('close', resolve))
  // The first order is answered late: that is the gap in which the plug is pulled.
  const waitMs = service === 'orders' && number === 1 ? Number(answerMs) : 50
  await Promise.race([new Promise((resolve) => setTimeout(resolve, waitMs)), gone])
  response.writeHead(answer ? 200 : 404).end(JSON.stringify(answer ?? {}))
})
server.listen(0, '127.0.0.1', () => {
  const address = /** @type {import('node:net').AddressInfo} */ (server.address())
  process.send?.({ kind: 'open', url: `http://127.0.0.1:${address.port}` })
})
process.on('disconnect', () => {
  closeSync(file)
  process.exit()
})
