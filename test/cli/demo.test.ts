import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { folder, isAlive, json, misfits, run, start } from './harness.ts'

test('C2, C5, L1, I9 killed after the e-mail was taken: 1 mail and an item, not 2', async () => {
  const data = join(folder(), 'demo')
  const end = await json(['demo', '--auto', '--data', data])
  expect(end.mails).toEqual({ naive: 2, counterfoil: 1 })
  expect(end.items).toBe(1)
  expect(end.kills).toMatchObject([
    { engine: 'naive', signal: 'SIGKILL', code: null },
    { engine: 'counterfoil', signal: 'SIGKILL', code: null },
  ])
  expect(end.run).toMatchObject({ run_id: 'acme-1', state: 'completed' })
  expect(end.processes.filter(isAlive)).toEqual([])

  // Not only its own word for it: the outboxes, and the ledger.
  const mails = (name: string) =>
    readFileSync(join(data, name, 'outbox.jsonl'), 'utf8')
      .trim()
      .split('\n').length
  expect([mails('plain'), mails('counterfoil')]).toEqual([2, 1])
  const shown = await json(['run', 'show', 'acme-1', '--events', '--store', end.store])
  const call = shown.calls.find((row: { tool_name: string }) => row.tool_name === 'send_email')
  expect(call).toMatchObject({ status: 'committed', attempts: 1 })
  expect(shown.decisions[0]).toMatchObject({ outcome: 'happened', by: 'demo' })
  const taken = shown.events.find((row: { kind: string }) => row.kind === 'taken_over')
  expect(taken.data).toMatchObject({ cause: 'dead' })
  expect(existsSync(join(data, 'counterfoil', 'orders', 'ORD-acme-1.json'))).toBe(true)
})

test('the demo can be read in 80 columns, and the commands that it prints work', async () => {
  const data = join(folder(), 'd')
  const { code, stdout, stderr } = await run(['demo', '--auto', '--data', data])
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout.match(/kill -9 \d+: ended by SIGKILL/g)).toHaveLength(2)
  const commands = stdout.slice(stdout.indexOf('Look further:'))
  expect(misfits(stdout.slice(0, -commands.length))).toEqual([])
  const [, command = ''] = commands.replaceAll('\\\n', '').split('\n')
  expect(execFileSync('bash', ['-c', command], { encoding: 'utf8' })).toMatch(
    /^acme-1 {2}completed/,
  )
})

/** Without ps where it can be done: small containers have none. */
function processTable(): number[][] {
  if (process.platform !== 'linux') {
    const table = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' })
    return table.split('\n').map((line) => line.trim().split(/\s+/).map(Number))
  }
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids.map((pid) => {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
      return [Number(pid), Number(stat.slice(stat.lastIndexOf(')')).split(' ')[2])]
    } catch {
      return [] // ended while we looked
    }
  })
}

function childrenOf(pid: number): number[] {
  return processTable()
    .filter(([, parent]) => parent === pid)
    .map(([child = 0]) => child)
}

test.each(['SIGINT', 'SIGTERM', 'SIGKILL'] as const)(
  '%s leaves no process behind',
  async (signal) => {
    const demo = start(['demo', '--auto', '--data', join(folder(), 'demo')])
    await demo.says('1. Plain checkpoint replay')
    await demo.says('starts: reads context')
    const children = childrenOf(demo.child.pid ?? 0)
    expect(children.length).toBeGreaterThan(0)
    demo.child.kill(signal)
    const { code } = await demo.ended
    expect(code).not.toBe(0)
    await expect.poll(() => children.filter(isAlive), { timeout: 90_000 }).toEqual([])
  },
)

test('a folder that is in use is refused and left as it is', async () => {
  const data = folder()
  writeFileSync(join(data, 'mine.txt'), 'mine')
  const { code, stderr } = await run(['demo', '--auto', '--data', data])
  expect(code).toBe(1)
  expect(stderr).toContain('DEMO_FOLDER_USED')
  expect(readFileSync(join(data, 'mine.txt'), 'utf8')).toBe('mine')
})
