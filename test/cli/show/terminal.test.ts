// At a terminal: questions, and progress. `script` gives a command one.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import { openDesk, servedDesk } from '../desk.ts'
import { bin, json, openItem } from '../harness.ts'

const terminal = process.platform === 'linux' && existsSync('/usr/bin/script')

interface Session {
  readonly shown: () => string
  readonly ended: Promise<number | null>
  type(keys: string): void
}

function atTerminal(args: readonly string[]): Session {
  const words = [process.execPath, bin, ...args].map((word) => `'${word}'`).join(' ')
  // A terminal that nobody looks at has no size, and a prompt would break after every letter.
  const command = `stty cols 100 rows 40; exec ${words}`
  const child = spawn('script', ['-qec', command, '/dev/null'], { stdio: 'pipe' })
  onTestFinished(() => void child.kill('SIGKILL'))
  let shown = ''
  child.stdout.on('data', (chunk) => {
    shown += chunk
  })
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve))
  return { shown: () => shown, ended, type: (keys) => void child.stdin.write(keys) }
}

async function shows(session: Session, text: string): Promise<void> {
  await expect.poll(() => session.shown(), { timeout: 90_000 }).toContain(text)
}

test.runIf(terminal)(
  'D11 at a terminal a pin is asked about, and "no" changes nothing',
  async () => {
    const { store } = await servedDesk(['ana'])
    const pin = ['checkpoint', 'pin', 'ana', '2', '--reason', 'x', '--store', store]
    for (const [keys, says, visit] of [
      ['n', 'Nothing was pinned.', 3],
      ['y', 'Run ana goes on from visit 2', 2],
    ] as const) {
      const session = atTerminal(pin)
      await shows(session, 'Go back to visit 2 (send)?')
      session.type(keys)
      await shows(session, says)
      expect(await session.ended).toBe(0)
      expect((await json(['run', 'show', 'ana', '--store', store])).run.visit).toBe(visit)
    }
  },
)

test.runIf(terminal)('C10 at a terminal each failed call is asked about', async () => {
  const { store } = await servedDesk(['refused'], { refusing: true })
  const session = atTerminal(['run', 'retry', 'refused', '--reason', 'seen', '--store', store])
  await shows(session, 'What becomes of send_email#0?')
  session.type('\u001b[B\u001b[B\r')
  await shows(session, 'as JSON:')
  session.type('nope\r')
  await shows(session, 'this is not JSON')
  session.type('\u0015{"messageId":"m-9"}\r')
  await shows(session, 'send_email#0: happened')
  expect(await session.ended).toBe(0)
  const { decisions } = await json(['run', 'show', 'refused', '--store', store])
  expect(decisions).toMatchObject([{ outcome: 'happened', result: { messageId: 'm-9' } }])
})

test.runIf(terminal)('E1 at a terminal an item is shown before it is approved', async () => {
  const { store } = await servedDesk(['ana'])
  const item = await openItem(store, 'ana')
  const session = atTerminal(['approve', item, '--by', 'ana', '--store', store])
  await shows(session, 'Decide "approve"?')
  expect(session.shown()).toContain('Dear ana')
  session.type('y')
  expect(await session.ended).toBe(0)
  expect(session.shown()).toContain('Decided: approve, by ana.')
})

test.runIf(terminal)('D4 what takes longer than a second shows what it waits for', async () => {
  const desk = await openDesk()
  await desk.begin('slow')
  await expect.poll(() => desk.world.sent).toEqual(['slow'])
  const session = atTerminal(['run', 'pause', 'slow', '--wait', '--store', desk.store])
  await shows(session, 'waiting until it is paused: run slow is running')
  desk.world.release()
  expect(await session.ended).toBe(0)
  // The line was taken back before the answer was printed.
  expect(session.shown()).toContain('\r\u001b[KRun slow is paused.')
})
