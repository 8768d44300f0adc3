// A host that opens one scope and calls one unsafe tool, saying on stdout what it does.
// opener.mjs <store> <upstream port> <how it ends>
//   wait    stays with the call in flight until it is killed
//   exit    ends by process.exit with the scope open
//   forget  closes the scope, not the store, and comes to its end
import { open } from 'counterfoil'
import { makeTools } from './agent.mjs'

const [, , store = '', port = '0', ending = 'wait'] = process.argv
const { mail } = makeTools(Number(port), () => {})
const cf = await open({ store })
const scope = await cf.scope({ workflowId: 't1', nodeId: 'tools', checkpointId: 'first' })
process.stdout.write('open\n')
if (ending === 'wait') await scope.call(mail, { to: 't1', subject: 'hello' })
if (ending === 'exit') process.exit(0)
await scope.close()
process.stdout.write('closed\n')
