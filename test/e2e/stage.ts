// A real server and real workers in processes of their own, and pages of a real browser.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { bin } from '../cli/harness.ts'
import { launch } from './browser.ts'

const here = (name: string) => fileURLToPath(new URL(name, import.meta.url))

export interface Process {
  readonly child: ChildProcess
  says(text: string): Promise<void>
  /** How it ended: the signal, or the exit code. */
  readonly ended: Promise<NodeJS.Signals | number | null>
}

export type Role = 'viewer' | 'operator' | 'admin'

export class Stage {
  private readonly folder = mkdtempSync(join(tmpdir(), 'counterfoil-e2e-'))
  private readonly children: ChildProcess[] = []
  private readonly workers: Process[] = []
  private readonly store = `sqlite:${join(this.folder, 'runs.db')}`
  private readonly browser: Browser
  /** Errors and refusals that pages have reported. */
  readonly complaints: string[] = []
  url = ''
  entryUrl = ''
  private adminToken = ''

  private constructor(browser: Browser) {
    this.browser = browser
  }

  static async open(): Promise<Stage> {
    const stage = new Stage(await launch())
    try {
      await stage.serve()
      return stage
    } catch (error) {
      await stage.close()
      throw error
    }
  }

  private async serve(): Promise<void> {
    const args = ['serve', here('agent.mjs'), '--port', '0', '--store', this.store, '--json']
    const line = await firstLine(this.start([bin, ...args]))
    const { url, entry_url: entry } = JSON.parse(line)
    this.url = url
    this.entryUrl = entry
    const about = ['--name', 'setup', '--role', 'admin', '--store', this.store, '--json']
    const made = await wholeOutput(this.start([bin, 'token', 'create', ...about]))
    this.adminToken = JSON.parse(made).token
  }

  private start(args: readonly string[], env: Record<string, string> = {}): ChildProcess {
    const child = spawn(process.execPath, args, {
      env: { ...process.env, E2E_FOLDER: this.folder, ...env },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    this.children.push(child)
    return child
  }

  /** A worker at work. */
  async worker(env: Record<string, string> = {}): Promise<Process> {
    const child = this.start([here('worker.mjs'), this.store], env)
    let out = ''
    child.stdout?.on('data', (chunk) => {
      out += chunk
    })
    const ended = new Promise<NodeJS.Signals | number | null>((resolve) => {
      child.on('close', (code, signal) => resolve(signal ?? code))
    })
    const says = (text: string) =>
      new Promise<void>((resolve, reject) => {
        const look = () => {
          if (out.includes(text)) resolve()
        }
        child.stdout?.on('data', look)
        child.on('close', () => reject(new Error(`ended without "${text}": ${out}`)))
        look()
      })
    await says('at work')
    const worker = { child, says, ended }
    this.workers.push(worker)
    return worker
  }

  /** No worker is left. */
  async dismiss(): Promise<void> {
    for (const { child, ended } of this.workers.splice(0)) {
      child.kill('SIGTERM')
      await ended
    }
  }

  async token(name: string, role: Role): Promise<string> {
    const answer = await this.api('/v1/tokens', { name, role })
    return ((await answer.json()) as { token: string }).token
  }

  async api(path: string, body?: unknown, token = this.adminToken): Promise<Response> {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const post = { method: 'POST', headers, body: JSON.stringify(body) }
    return fetch(`${this.url}${path}`, body === undefined ? { headers } : post)
  }

  async begin(graph: string, customer: string, runId: string): Promise<void> {
    const answer = await this.api('/v1/runs', { graph, input: { customer }, run_id: runId })
    if (!answer.ok) throw new Error(await answer.text())
  }

  /** Waits until the run is in this state. */
  async until(runId: string, state: string): Promise<void> {
    for (;;) {
      const answer = await this.api(`/v1/runs/${encodeURIComponent(runId)}`)
      const run = (await answer.json()) as { state: string }
      if (run.state === state) return
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }

  /** The id of the item that the run waits for. */
  async itemOf(runId: string): Promise<string> {
    await this.until(runId, 'waiting_human')
    const answer = await this.api(`/v1/inbox?run=${encodeURIComponent(runId)}`)
    const { items } = (await answer.json()) as { items: { item_id: string }[] }
    return items[0]?.item_id ?? ''
  }

  /** Who was sent an e-mail. */
  sent(): string[] {
    const path = join(this.folder, 'outbox.txt')
    if (!existsSync(path)) return []
    const lines = readFileSync(path, 'utf8').trim().split('\n')
    return lines.map((line) => JSON.parse(line))
  }

  /** The slow upstream answers from now on. */
  release(): void {
    writeFileSync(join(this.folder, 'released'), '')
  }

  /** A page of somebody who is not signed in. */
  async page(options: BrowserContextOptions = {}): Promise<Page> {
    const context = await this.browser.newContext({
      ...{ viewport: { width: 1280, height: 860 }, timezoneId: 'Europe/Berlin', locale: 'en-GB' },
      ...options,
    })
    const page = await context.newPage()
    page.setDefaultTimeout(40_000)
    page.on('pageerror', (error) => this.complaints.push(`error: ${error.message}`))
    page.on('dialog', (dialog) => {
      this.complaints.push(`dialog: ${dialog.message()}`)
      dialog.dismiss()
    })
    page.on('console', (message) => {
      const refused = /Content Security Policy|violates/.test(message.text())
      if (refused) this.complaints.push(`console: ${message.text()}`)
    })
    return page
  }

  /** A page of somebody who has typed their token. */
  async signedIn(name: string, role: Role, options: BrowserContextOptions = {}): Promise<Page> {
    const token = await this.token(name, role)
    const page = await this.page(options)
    await page.goto(this.url)
    await page.getByLabel('Token').fill(token)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { name: 'Inbox' }).waitFor()
    return page
  }

  /**
   * None of these pages is answered before all have asked: the slower one would be told meanwhile.
   */
  async together(pages: readonly Page[], address: string): Promise<void> {
    let asked = 0
    let allAsked = () => {}
    const all = new Promise<void>((resolve) => {
      allAsked = resolve
    })
    for (const page of pages) {
      await page.route(address, async (route) => {
        if (++asked === pages.length) allAsked()
        await all
        await route.continue()
      })
    }
  }

  async close(): Promise<void> {
    await this.browser.close()
    // Whoever still writes would have the folder again.
    for (const child of this.children) {
      if (child.exitCode !== null || child.signalCode !== null) continue
      child.kill('SIGKILL')
      await once(child, 'exit')
    }
    rmSync(this.folder, { recursive: true, force: true })
  }
}

function wholeOutput(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    let out = ''
    child.stdout?.on('data', (chunk) => {
      out += chunk
    })
    child.on('close', () => resolve(out))
  })
}

function firstLine(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let out = ''
    child.stdout?.on('data', (chunk) => {
      out += chunk
      const end = out.indexOf('\n')
      if (end >= 0) resolve(out.slice(0, end))
    })
    child.on('close', (code) => reject(new Error(`ended with ${code} and said ${out}`)))
  })
}
