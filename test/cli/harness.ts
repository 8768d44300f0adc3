// Runs the built command line in a process of its own, as a user would, and prepares stores for it.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { z } from 'zod'
import { open, tool, workflow } from '../../src/index.ts'

export const bin = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))

export interface Ended {
  code: number | null
  signal: NodeJS.Signals | null
  stdout: string
  stderr: string
}

/** A command that is still running. */
export interface Running {
  child: ChildProcess
  ended: Promise<Ended>
  /** Resolves once stdout contains the text. */
  says(text: string): Promise<string>
  /** What it has said on stderr so far. */
  stderr(): string
}

export function start(args: readonly string[], env: Record<string, string> = {}): Running {
  // A colour forced by the test runner, or a developer's own store, would not be a user's.
  const { FORCE_COLOR: _, COUNTERFOIL_STORE: __, COUNTERFOIL_KEY: ___, ...rest } = process.env
  const child = spawn(process.execPath, [bin, ...args], {
    env: { ...rest, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const out = { stdout: '', stderr: '' }
  child.stdout.on('data', (chunk) => {
    out.stdout += chunk
  })
  child.stderr.on('data', (chunk) => {
    out.stderr += chunk
  })
  const ended = new Promise<Ended>((resolve) => {
    child.on('close', (code, signal) => resolve({ code, signal, ...out }))
  })
  const says = (text: string) =>
    new Promise<string>((resolve, reject) => {
      const look = () => {
        if (out.stdout.includes(text)) resolve(out.stdout)
      }
      child.stdout.on('data', look)
      child.on('close', () => reject(new Error(`ended without "${text}": ${JSON.stringify(out)}`)))
      look()
    })
  // Gone before the folders of its test are: they could not be removed while it writes.
  onTestFinished(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  })
  return { child, ended, says, stderr: () => out.stderr }
}

export function run(args: readonly string[], env: Record<string, string> = {}): Promise<Ended> {
  return start(args, env).ended
}

/** The one document on stdout. */
export async function json(args: readonly string[]) {
  const ended = await run([...args, '--json'])
  if (ended.code !== 0) throw new Error(`exit ${ended.code}: ${ended.stderr}`)
  return JSON.parse(ended.stdout)
}

export function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'counterfoil-cli-'))
  onTestFinished(() => rmSync(path, { recursive: true, force: true, maxRetries: 10 }))
  return path
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

const email = z.object({ to: z.string(), body: z.string() })

/** Two versions of one workflow: the body of the e-mail moved between them. */
function outreach(body: string, sent: string[]) {
  const sendEmail = tool({
    name: 'send_email',
    replayClass: 'unsafe_on_replay',
    input: email,
    output: z.object({ messageId: z.string() }),
    timeoutMs: 2_000,
    run: ({ to }) => {
      sent.push(to)
      if (to === 'lost') throw new Error('socket hang up')
      return { messageId: `m-${to}` }
    },
    externalId: ({ messageId }) => messageId,
    example: { messageId: 'm-1' },
    whereToLook: ({ to }) => ({ url: `https://mail.test/?q=${to}`, say: 'Search the mail log.' }),
  })
  return workflow({
    id: 'outreach@1.0.0',
    input: z.object({ to: z.string() }),
    tools: [sendEmail],
    run: async ({ to }, ctx) => {
      const mail = await ctx.call(sendEmail, { to, body })
      const { answer } = await ctx.ask({ title: `Go on with ${to}?`, data: mail })
      return { mail, answer }
    },
  })
}

/** A title that would clear the screen, ring the bell and reverse the text, if it were printed. */
export const hostile = 'no luck\u001b[2J\u0007 \u202etoday\u009b31m, and on and on until it is cut'

const failing = workflow({
  id: 'failing@2.1.0',
  input: z.object({}),
  run: async () => {
    throw new Error(hostile)
  },
})

/** Works on a store in this process until `work` is done. */
async function working(
  store: string,
  body: string,
  work: (cf: Awaited<ReturnType<typeof open>>, graph: ReturnType<typeof outreach>) => Promise<void>,
): Promise<string[]> {
  const sent: string[] = []
  const graph = outreach(body, sent)
  const cf = await open({ store, graphs: [graph, failing] })
  await cf.worker().start()
  await work(cf, graph)
  await cf.close()
  return sent
}

/** Runs `lost` (a doubt), `ana` and `bob` (questions), `broken` (failed), and nobody at work. */
export async function prepare(): Promise<{ store: string; path: string }> {
  const path = join(folder(), 'runs.db')
  const store = `sqlite:${path}`
  await working(store, 'first', async (cf, graph) => {
    for (const to of ['lost', 'ana', 'bob']) {
      const handle = await cf.start(graph, { to }, { runId: to })
      await handle.until('waiting_human')
    }
    const broken = await cf.start(failing, {}, { runId: 'broken' })
    await broken.until('failed')
  })
  return { store, path }
}

/** A worker comes back until the run has reached a state; who was sent an e-mail meanwhile. */
export function carryOn(
  store: string,
  runId: string,
  options: { body?: string; until: 'completed' | 'failed' | 'waiting_human' },
): Promise<string[]> {
  return working(store, options.body ?? 'first', async (cf) => {
    await cf.run(runId).until(options.until)
  })
}

export async function openItem(store: string, runId: string): Promise<string> {
  const { items } = await json(['inbox', '--run', runId, '--store', store])
  return items[0].item_id
}

const escapeCode = String.fromCharCode(27)

/** What a terminal of 80 columns would not show as it is. */
export function misfits(text: string): string[] {
  return text.split('\n').filter((line) => [...line].length > 80 || line.includes(escapeCode))
}
