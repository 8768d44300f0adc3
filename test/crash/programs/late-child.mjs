// Asks the upstream after a while, whatever has become of whoever started it.
// late-child.mjs <upstream port> <late ms> <body>
import { post } from './workload.mjs'

const [, , port = '0', lateMs = '0', body = '{}'] = process.argv
await new Promise((resolve) => setTimeout(resolve, Number(lateMs)))
await post(Number(port), JSON.parse(body))
