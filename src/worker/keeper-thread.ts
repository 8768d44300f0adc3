// The entry of the thread that renews a worker's lease (keeper.ts starts it).
import { parentPort, workerData } from 'node:worker_threads'
import { systemClock } from '../clock.ts'
import type { Renewal, Renewer } from '../store/store.ts'
import { LeaseMemory } from './lease-memory.ts'
import { Renewing } from './renewing.ts'

export interface ThreadData {
  readonly memory: SharedArrayBuffer
  readonly renewal: Renewal
  readonly workerId: string
  readonly leaseMs: number
  readonly blockedMsMax: number
}

const { memory, renewal, workerId, leaseMs, blockedMsMax } = workerData as ThreadData
const port = parentPort

const renewing = new Renewing({
  clock: systemClock,
  lease: new LeaseMemory(memory),
  workerId,
  leaseMs,
  blockedMsMax,
  open: async () => {
    const module = (await import(renewal.module)) as {
      openRenewer(data: unknown): Promise<Renewer>
    }
    return module.openRenewer(renewal.data)
  },
  tell: (what) => port?.postMessage(what),
})
// Anything that is said to it means: enough.
port?.once('message', () => {
  void renewing.stop().finally(() => port.close())
})
renewing.begin()
