// Renews leases from a thread of its own, with a connection of its own.
import type { Renewer } from '../store.ts'
import { clientConfig, loadDriver, type Settings } from './opening/driver.ts'

export interface RenewerData {
  readonly settings: Settings
  readonly schema: string
}

const answerMs = 5_000

export async function openRenewer(data: unknown): Promise<Renewer> {
  const { settings, schema } = data as RenewerData
  const driver = await loadDriver()
  const client = new driver.Client(clientConfig(settings))
  // The renewal that fails tells; whoever asked opens another.
  client.on('error', () => {})
  await client.connect()
  const text = `select renewed from "${schema}".renew_worker($1, $2)`
  return {
    renew: async (workerId, leaseMs) => {
      const config = { text, values: [workerId, leaseMs], query_timeout: answerMs }
      const { rows } = await client.query<{ renewed: boolean }>(config)
      return rows[0]?.renewed === true
    },
    close: () => client.end(),
  }
}
