// A receiver of webhooks in a process of its own. It does with each request what its plan says next
// (a status, `hang`, `redirect`), then what comes last in the plan, and prints what it was sent.
import { createServer } from 'node:http'

const plan = JSON.parse(process.argv[2] ?? '["204"]')
const port = Number(process.argv[3] ?? 0)
let n = 0

const server = createServer(async (request, response) => {
  const parts = []
  for await (const part of request) parts.push(part)
  const does = plan[Math.min(n++, plan.length - 1)]
  const { url, headers } = request
  console.log(JSON.stringify({ does, url, headers, body: Buffer.concat(parts).toString() }))
  if (does === 'redirect') response.writeHead(302, { location: '/elsewhere' }).end()
  else if (does === 'large') response.writeHead(500).end('x'.repeat(10_000_000))
  else if (does !== 'hang') response.writeHead(Number(does)).end('said')
})
server.listen(port, '127.0.0.1', () => console.log(JSON.stringify(server.address())))
