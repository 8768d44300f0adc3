// Which deaths can be proven on a store that several machines share (I9).
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { bootId } from '../../src/store/boot.ts'
import type { WorkerRow } from '../../src/store/store.ts'
import { proofOfDeath } from '../../src/worker/liveness.ts'
import { machineOf } from '../../src/worker/machine.ts'

const local = { local: true }
const shared = { local: false }

function row(more: Partial<WorkerRow>): WorkerRow {
  return {
    ...{ workerId: 'w_1', pid: 1, host: hostname(), bootId: bootId(), startedAt: 1 },
    ...{ socketPath: null, socketInode: null, leaseUntil: 0, expired: false },
    ...{ stoppedAt: null, diedAt: null, deathProof: null },
    ...more,
  }
}

/** The socket of a process that was killed. */
async function deadSocket(): Promise<Pick<WorkerRow, 'socketPath' | 'socketInode'>> {
  const dir = mkdtempSync(join(tmpdir(), 'counterfoil-dead-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  const socketPath = join(dir, 's.sock')
  const path = JSON.stringify(socketPath)
  const text = `require('node:net').createServer().listen(${path}, () => console.log('up'))`
  const child = spawn(process.execPath, ['-e', text], { stdio: ['ignore', 'pipe', 'inherit'] })
  await once(child.stdout, 'data')
  child.kill('SIGKILL')
  await once(child, 'exit')
  return { socketPath, socketInode: String(statSync(socketPath).ino) }
}

test('I9 a shared store knows a machine by COUNTERFOIL_MACHINE, a local one by its name', () => {
  expect(machineOf(shared)).toEqual({ host: hostname(), bootId: bootId() })
  vi.stubEnv('COUNTERFOIL_MACHINE', 'm1')
  onTestFinished(() => void vi.unstubAllEnvs())
  expect(machineOf(shared).host).toBe('machine:m1')
  expect(machineOf(local).host).toBe(hostname())
})

test('I9 another boot proves a death only where the name of the machine is certain', async () => {
  const proof = (store: { local: boolean }, host: string, now = 'b2') =>
    proofOfDeath(store, row({ host, bootId: 'b1' }), { host, bootId: now })
  expect(await proof(local, 'web-1')).toContain('restarted')
  expect(await proof(shared, 'machine:4f2a')).toContain('restarted')
  // Another machine may have been given the same name.
  expect(await proof(shared, 'web-1')).toBeNull()
  expect(await proof(shared, 'machine:4f2a', 'unknown')).toBeNull()
  const elsewhere = row({ host: 'machine:a', bootId: 'b1' })
  expect(await proofOfDeath(shared, elsewhere, { host: 'machine:b', bootId: 'b2' })).toBeNull()
})

test('I9 a refused connection proves it too: same name, same boot, same inode', async () => {
  const socket = await deadSocket()
  const own = { host: hostname(), bootId: bootId() }
  expect(await proofOfDeath(shared, row(socket), own)).toContain('ECONNREFUSED')
  expect(await proofOfDeath(local, row(socket), own)).toContain('ECONNREFUSED')
  const other = { ...socket, socketInode: '1' }
  expect(await proofOfDeath(shared, row(other), own)).toBeNull()
  // Without a boot that is known to be the same, the file may be that of another machine.
  const unknown = row({ ...socket, bootId: 'unknown' })
  expect(await proofOfDeath(shared, unknown, own)).toBeNull()
  expect(await proofOfDeath(local, unknown, own)).toContain('ECONNREFUSED')
  const elsewhere = row({ ...socket, host: 'elsewhere' })
  expect(await proofOfDeath(shared, elsewhere, own)).toBeNull()
})
