// Pull the plug: one LangGraph agent, twice. Its process is killed (SIGKILL) after the vendor has
// taken a purchase order of $84,000 and before the agent has its answer, and it is started again.
// On the left LangGraph with its own checkpoint saver, on the right the same graph file with our
// few lines. The orders are counted by the vendor, in a process of its own.
//
//   node examples/pull-the-plug.mjs               both sides, and what the vendor has in its book
//   node examples/pull-the-plug.mjs figures.json  the same, and as a document in that file
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { open } from 'counterfoil'
import { dollars, show } from './pull-the-plug/show.mjs'

const [, , file] = process.argv
const folder = mkdtempSync(join(tmpdir(), 'counterfoil-plug-'))
const store = `sqlite:${join(folder, 'runs.db')}`
/** @param {string} line */
const say = (line) => console.log(`   ${line}`)

console.log("1. LangGraph with its own saver (SqliteSaver, durability 'sync')")
const plain = await show('plain', { folder, args: [join(folder, 'plain.db')] }, { say })
console.log(`   ${sum(plain.orders)}; ${plain.doubts.length} people were asked\n`)

console.log('2. The same graph, with CounterfoilSaver and guard()')
const cf = await open({ store })
const guarded = await show('guarded', { folder, args: [store] }, { say, onDoubt })
await cf.close()
console.log(`   ${sum(guarded.orders)}; ${guarded.doubts.length} person was asked`)

/**
 * The person looks into the vendor's book before deciding.
 * @param {{ itemId: string }} doubt
 * @param {{ order: string }[]} orders
 */
async function onDoubt({ itemId }, [taken]) {
  const { version } = await cf.inbox.get(itemId)
  const result = { order: taken?.order }
  const reason = `the vendor has it as ${taken?.order}`
  await cf.inbox.decide(itemId, { outcome: 'happened', result, by: 'ana', reason, version })
  say(`ana decides: it happened (${reason})`)
}

/** @param {{ usd: number }[]} orders */
function sum(orders) {
  const usd = orders.reduce((all, order) => all + order.usd, 0)
  return `${orders.length} purchase order${orders.length === 1 ? '' : 's'}, ${dollars(usd)}`
}

if (file) writeFileSync(file, JSON.stringify({ plain, guarded }, null, 2))
rmSync(folder, { recursive: true, force: true })
