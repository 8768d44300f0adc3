// A run that waits is a row: no lease, no memory, no connection.
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { key, schemaOf, sql } from '../postgres/bench.ts'
import { Fleet, kinds } from './site.ts'

const count = 1_200

test.each(kinds)(
  'D3 thousands of parked runs cost their worker no memory, lease or connection, on %s',
  async (kind) => {
    const fleet = await Fleet.open(kind)
    const path = fileURLToPath(new URL('./parked.mjs', import.meta.url))
    const words = ['--expose-gc', path, fleet.store, String(count)]
    const env = { ...process.env, ...(kind === 'postgres' ? { COUNTERFOIL_KEY: key } : {}) }
    const child = spawn(process.execPath, words, { env, stdio: ['ignore', 'pipe', 'inherit'] })
    onTestFinished(() => void child.kill('SIGKILL'))
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
    const said = async () => JSON.parse((await lines.next()).value ?? '{}')

    const parked = await said()
    expect(parked).toMatchObject({ kind: 'parked', running: 0 })
    // 20,000 characters of each would be 20 MB; their rows alone would be more than this.
    const growth = parked.after - parked.before
    expect(growth).toBeLessThan(3_000_000)
    const cf = await fleet.client()
    const { items } = await cf.store.listRuns({ namespace: 'default', countMax: 500 })
    const kept = new Set(items.map((run) => `${run.state}, held by ${run.workerId}`))
    expect(kept).toEqual(new Set(['waiting_tool, held by null']))
    child.kill('SIGUSR2')
    expect(await said()).toMatchObject({
      ...{ kind: 'woken', result: { length: 20_000, got: 'now' }, claimed: count + 1 },
    })
    if (kind === 'postgres') {
      const [row] = await sql(
        fleet.store,
        `select count(*)::int as n from pg_stat_activity
         where application_name like 'counterfoil%' and state is not null
           and query like '%' || $1 || '%'`,
        [schemaOf(fleet.store)],
      )
      // The worker's pool and this test's own, as large as ever.
      expect(row?.['n']).toBeLessThan(40)
    }
    console.log(
      `parked on ${kind}: ${count / 2} more runs, ${Math.round(growth / 1024)} KiB of heap`,
    )
    child.kill('SIGTERM')
  },
  180_000,
)
