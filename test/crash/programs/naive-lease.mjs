// A control: plain checkpoints under a lease that each worker reckons by its own wall clock.
// naive-lease.mjs <postgres url> <upstream port> <who> <lease ms>
import pg from 'pg'
import { post } from './workload.mjs'

const [, , url = '', port = '0', who = 'a', leaseMs = '10000'] = process.argv
const client = new pg.Client({ connectionString: url })
await client.connect()
process.stdout.write(`working ${who} ${Date.now()}\n`)

/** Takes or keeps the lease, if it is free by this clock. */
async function take() {
  const { rowCount } = await client.query(
    'update naive_lease set holder = $1, until = $2 where holder = $1 or until < $3',
    [who, Date.now() + Number(leaseMs), Date.now()],
  )
  return rowCount === 1
}

async function isDone() {
  const { rows } = await client.query('select step from naive_steps')
  return rows.length === subjects.length
}

async function isHeld() {
  const { rows } = await client.query("select 1 from naive_lease where holder <> ''")
  return rows.length > 0
}

async function areBothHere() {
  const { rows } = await client.query('select 1 from naive_here')
  return rows.length === 2
}

const subjects = ['hello', 'paid', 'bye']
await client.query('insert into naive_here values ($1)', [who])
// However slowly one of them starts.
while (!(await areBothHere())) await new Promise((resolve) => setTimeout(resolve, 5))
// The other one comes when the first is at work.
while (who !== 'first' && !(await isHeld())) await new Promise((resolve) => setTimeout(resolve, 5))
while (!(await isDone())) {
  if (!(await take())) {
    await new Promise((resolve) => setTimeout(resolve, 20))
    continue
  }
  const { rows } = await client.query('select step from naive_steps')
  const subject = subjects.find((each) => !rows.some(({ step }) => step === each))
  if (subject === undefined) break
  const input = { to: 'r1', subject }
  await post(Number(port), { tool: 'mail', key: null, input, attemptId: null })
  await client.query('insert into naive_steps values ($1) on conflict do nothing', [subject])
}
await client.end()
