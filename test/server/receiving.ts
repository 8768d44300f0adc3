// A receiver in a process of its own, and what it was sent.
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'

export interface Received {
  readonly does: string
  readonly url: string
  readonly headers: Record<string, string>
  readonly body: string
}

export interface Receiver {
  readonly url: string
  readonly port: number
  readonly received: Received[]
  kill(): Promise<void>
}

const file = fileURLToPath(new URL('./receiver.mjs', import.meta.url))

export async function startReceiver(
  plan: readonly string[] = ['204'],
  port = 0,
): Promise<Receiver> {
  const args = [file, JSON.stringify(plan), `${port}`]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const kill = () => {
    child.kill('SIGKILL')
    return ended
  }
  onTestFinished(kill)
  const received: Received[] = []
  const opened = await new Promise<number>((resolve) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      const said = JSON.parse(line)
      if (said.port) resolve(said.port)
      else received.push(said)
    })
  })
  return { url: `http://127.0.0.1:${opened}/hook`, port: opened, received, kill }
}
