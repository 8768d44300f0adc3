// Examples are programs, and what the README shows is one of them.
import { execFile, spawn } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, onTestFinished, test } from 'vitest'
import { picture } from '../scripts/picture.mjs'
import { open } from '../src/index.ts'
import { bin } from './cli/harness.ts'
import { describePostgres, dropSchema, key, postgresUrl } from './postgres/bench.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const example = (name: string) => join(root, 'examples', name)

function folder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'counterfoil-example-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  return dir
}

test('L1 examples/first.mjs runs as it stands, and is what the README shows', async () => {
  const source = readFileSync(example('first.mjs'), 'utf8')
  expect(readFileSync(join(root, 'README.md'), 'utf8')).toContain(`\`\`\`js\n${source}\`\`\``)
  const dir = folder()
  cpSync(example('first.mjs'), join(dir, 'first.mjs'))
  symlinkSync(join(root, 'node_modules'), join(dir, 'node_modules'))
  // As an installed package would be found.
  const text = source.replace("'counterfoil'", JSON.stringify(join(root, 'dist/index.js')))
  const run = promisify(execFile)
  const first = () => run(process.execPath, ['--input-type=module', '-e', text], { cwd: dir })
  const { stdout } = await first()
  expect(stdout).toContain("state: 'waiting_human'")
  expect(stdout).toContain("kind: 'question'")
  await expectReadmeDecides(dir)
  expect((await first()).stdout).toContain("state: 'completed'")
})

/** What the README tells the person who is asked to type, word for word, where nobody can ask. */
async function expectReadmeDecides(dir: string): Promise<void> {
  const readme = readFileSync(join(root, 'README.md'), 'utf8')
  const [, block = ''] = /as the person who is\nasked:.*?```sh\n(.*?)```/s.exec(readme) ?? []
  const lines = block.trim().split('\n')
  expect(lines).toHaveLength(3)
  const said: string[] = []
  for (const line of lines) {
    const [item] = /item_\w{20}/.exec(said[0] ?? '') ?? ['']
    const words = line.replace('<item>', item).replace(/^npx counterfoil/, `node ${bin}`)
    const { stdout } = await promisify(execFile)('sh', ['-c', words], { cwd: dir })
    said.push(stdout)
  }
  expect(said[1]).toContain('version 1')
  expect(said[2]).toMatch(/^Decided: respond, by .+ Run acme-1 is pending/)
}

interface Ended {
  code: number | null
  out: string
}

/** Runs the outreach; with `killAt`, only until it has said that. */
function outreach(dir: string, options: { killAt?: string; args?: string[] } = {}) {
  const { killAt, args = [] } = options
  const child = spawn(process.execPath, [example('outreach.mjs'), dir, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    // The kill has to come before the answer.
    env: { ...process.env, ...(killAt === undefined ? {} : { OUTREACH_SLOW_MS: '5000' }) },
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let out = ''
  let look = () => {}
  const hear = (chunk: Buffer) => {
    out += chunk
    if (killAt !== undefined && out.includes(killAt)) child.kill('SIGKILL')
    look()
  }
  child.stdout.on('data', hear)
  child.stderr.on('data', hear)
  const ended = new Promise<Ended>((resolve) => {
    child.on('close', (code) => resolve({ code, out }))
  })
  const says = (pattern: RegExp) =>
    new Promise<RegExpExecArray>((resolve, reject) => {
      look = () => {
        const found = pattern.exec(out)
        if (found) resolve(found)
      }
      void ended.then(() => reject(new Error(`it ended without ${pattern}: ${out}`)))
      look()
    })
  return { ended, says }
}

function expectOneOfEach(dir: string, { code, out }: Ended): void {
  expect(code, out).toBe(0)
  expect(out).toContain('end: {"boxes":20,"messageId":"m-1","order":"ORD-acme-1"}')
  const mails = readFileSync(join(dir, 'outbox.jsonl'), 'utf8').trim().split('\n')
  expect(mails).toHaveLength(1)
  const orders = readdirSync(dir).filter((name) => name.startsWith('order-'))
  expect(orders).toEqual(['order-acme-1.json'])
  const order = JSON.parse(readFileSync(join(dir, 'order-acme-1.json'), 'utf8'))
  expect(order).toEqual({ customer: 'acme', boxes: 20 })
}

/** What the ledger knows of the mail. */
async function statusOfMail(dir: string): Promise<string | undefined> {
  const cf = await open({ store: `sqlite:${join(dir, 'runs.db')}` })
  const { items } = await cf.store.listRecords({ namespace: 'default', runId: 'acme-1' }, {})
  await cf.close()
  return items.find((row) => row.tool === 'send_email')?.status
}

// Each of them starts processes one after the other.
describe('the outreach', { timeout: 300_000 }, () => {
  const moments = {
    'before it has begun': 'everything is in',
    'when the mail is out and nobody knows': 'the mail server takes',
    'when the person has rejected': 'reject:',
    'when the person has approved': 'approve:',
    'when the order is filed and nobody knows': 'the shop has order',
  }

  test('N1 E3 E4 a rejection goes back to the draft with its reason', async () => {
    const dir = folder()
    const ended = await outreach(dir).ended
    expectOneOfEach(dir, ended)
    const rejected = ended.out.indexOf('File 40 boxes for acme? reject: they have half of it left')
    const approved = ended.out.indexOf('File 20 boxes for acme? approve')
    expect(rejected).toBeGreaterThan(-1)
    expect(approved).toBeGreaterThan(rejected)
    expect(ended.out).toContain('decisions: reject by ana, approve by ana')
    // Started once more it finds the run at its end.
    const again = await outreach(dir).ended
    expectOneOfEach(dir, again)
    expect(again.out).not.toContain('the mail server takes')
  })

  test.each(Object.entries(moments))('N1 killed %s: one mail, one order', async (_when, killAt) => {
    const dir = folder()
    const killed = await outreach(dir, { killAt }).ended
    expect(killed.code, killed.out).not.toBe(0)
    const status = await statusOfMail(dir)
    const ended = await outreach(dir).ended
    expectOneOfEach(dir, ended)
    // Who finds the intent without a receipt looks in the outbox first.
    expect(/send_email: did it happen\? \w+:/.test(ended.out)).toBe(status === 'pending')
  })

  test('N1 killed again and again: one mail, one order, each decision once', async () => {
    const dir = folder()
    for (const killAt of Object.values(moments)) {
      await outreach(dir, { killAt }).ended
    }
    const ended = await outreach(dir).ended
    expectOneOfEach(dir, ended)
    const decisions = /decisions: (.*)/.exec(ended.out)?.[1]
    expect(decisions).toMatch(/^(?:\w+ by ana, )?reject by ana, approve by ana$/)
  })

  test('N1 E3 --interactive prints commands; three rejections end it', async () => {
    const dir = folder()
    const running = outreach(dir, { args: ['--interactive'] })
    const decided = new Set<string>()
    for (let round = 0; round < 3; round++) {
      const seen = [...decided].map((id) => `(?!${id})`).join('')
      const pattern = new RegExp(`npx counterfoil (reject ${seen}(\\S+) .*)`)
      const [, words = '', item = ''] = await running.says(pattern)
      decided.add(item)
      const args = words.replace("'…'", 'no').split(' ')
      await promisify(execFile)(process.execPath, [join(root, 'dist/cli/main.js'), ...args])
    }
    const { code, out } = await running.ended
    expect(code, out).toBe(0)
    expect(out).toContain('end: run acme-1 failed: rejected three times: no')
    expect(existsSync(join(dir, 'order-acme-1.json'))).toBe(false)
  })
})

test('J2 examples/chaos.mjs: a bank that ignores its keys is found out', async () => {
  const chaos = (bank: string) =>
    new Promise<{ code: number | null; out: string }>((resolve) => {
      const args = [join(root, 'dist/cli/main.js'), 'chaos', example('chaos.mjs'), '--kills', '6']
      const child = spawn(process.execPath, args, { env: { ...process.env, BANK: bank } })
      let out = ''
      child.stdout.on('data', (chunk) => {
        out += chunk
      })
      child.on('close', (code) => resolve({ code, out }))
    })
  const careless = await chaos('')
  expect([careless.code, careless.out]).toEqual([1, expect.stringContaining('charge_card')])
  expect(careless.out).toContain('happened twice')
  expect((await chaos('careful')).code).toBe(0)
}, 300_000)

test('J2, K1 examples/chaos-langgraph.mjs: guarded is safe, unguarded sends twice', async () => {
  const chaos = async (kills: string, env: Record<string, string> = {}) => {
    const words = ['chaos', example('chaos-langgraph.mjs'), '--kills', kills, '--json']
    const args = [join(root, 'dist/cli/main.js'), ...words]
    const child = spawn(process.execPath, args, { env: { ...process.env, ...env } })
    let out = ''
    child.stdout.on('data', (chunk) => {
      out += chunk
    })
    const code = await new Promise((resolve) => child.on('close', resolve))
    const { tools, kills: killed } = JSON.parse(out)
    const effects = tools.map((tool: Record<string, unknown>) => tool['effects_max'])
    return { code, killed, effects, doubts: tools[2].doubts }
  }
  // In order: the lookup, the charge, the mail. Each is killed when it has done its work.
  expect(await chaos('3')).toEqual({ code: 0, killed: 3, effects: [0, 1, 1], doubts: 1 })
  const plain = await chaos('3', { GUARD: 'off' })
  expect(plain).toEqual({ code: 1, killed: 3, effects: [0, 2, 2], doubts: 0 })
}, 300_000)

test('N6 pull the plug: LangGraph orders twice, guarded once, as in the picture', async () => {
  const file = join(folder(), 'figures.json')
  await promisify(execFile)(process.execPath, [example('pull-the-plug.mjs'), file])
  const figures = JSON.parse(readFileSync(file, 'utf8'))
  const { plain, guarded } = figures
  expect([plain.signal, guarded.signal]).toEqual(['SIGKILL', 'SIGKILL'])
  expect(plain.orders.map((order: { usd: number }) => order.usd)).toEqual([84_000, 84_000])
  expect(plain.doubts).toEqual([])
  expect(guarded.orders).toMatchObject([{ order: 'PO-1', usd: 84_000 }])
  expect(guarded.doubts).toMatchObject([{ title: 'place_order: did it happen?' }])
  expect(guarded.said).toBe('Ordered: PO-1.')
  const drawn = readFileSync(join(root, 'docs/images/pull-the-plug.svg'), 'utf8')
  expect(picture(figures)).toBe(drawn)
}, 300_000)

test('N3 the trip is killed at step 4 and charges once; a restart charges twice', async () => {
  const file = join(folder(), 'figures.json')
  const run = promisify(execFile)
  const { stdout } = await run(process.execPath, [example('trip.mjs'), file])
  const figures = JSON.parse(readFileSync(file, 'utf8'))
  const { counterfoil, fromZero, budget, steps, price, atCrash } = figures
  // Charged once, though the bank was asked twice, with one key.
  expect(counterfoil.charges).toBe(1)
  expect(counterfoil.chargeKeys).toHaveLength(2)
  expect(new Set(counterfoil.chargeKeys).size).toBe(1)
  expect(counterfoil).toMatchObject({ holds: 1, rooms: 1, mails: 1, parked: 0 })
  // Four turns and three steps are read back, the charge is sent again, and nothing is paid twice.
  expect(counterfoil).toMatchObject({ replayed: 7, sentAgain: 1, turns: 7, tokensAgain: 0 })
  expect(counterfoil.tokens).toBe(budget.tokensIn + budget.tokensOut)
  expect(budget.calls).toBe(14)
  expect(atCrash.calls).toBe(7)
  expect(steps.map((step: { attempts: number }) => step.attempts)).toEqual([1, 1, 1, 2, 1, 1, 1])
  const sum = (key: string) =>
    steps.reduce((total: number, step: Record<string, number>) => total + (step[key] ?? 0), 0)
  expect(sum('tokens')).toBe(counterfoil.tokens)
  expect(sum('usd')).toBeCloseTo(budget.usd)
  expect(price).toEqual({ charged: 1152.4, atTheDesk: 168 })
  // The same program without a ledger.
  expect(fromZero).toMatchObject({ charges: 2, holds: 2, rooms: 2, turns: 11 })
  expect(new Set(fromZero.chargeKeys).size).toBe(2)
  expect(fromZero.tokensAgain).toBe(atCrash.tokensIn + atCrash.tokensOut)
  expect(fromZero.usdAgain).toBeCloseTo(atCrash.usd)
  expect(fromZero.compensation).toEqual({ cancellations: 2, refunds: 1, feesUsd: 33.72 })
  // And as tables.
  expect(stdout).toContain('7 calls are read back, 1 sent again')
  expect(stdout).toMatch(/charges on the card +1 +2/)
  expect(stdout).toMatch(/4 charge_card +idempotent_with_key +2 /)
})

test('L5 a process on a store of one’s own is killed: a person is asked, one mail', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [
    ...[example('own-store.mjs'), folder()],
  ])
  expect(stdout.trim().split('\n')).toEqual([
    'the first process: SIGKILL',
    'the second process: send_mail: did it happen?',
    "the run: { id: 'm-1' }",
    'mails: 1',
  ])
})

/** The four agents; what they and their supervisor have counted. */
async function fourAgents(...args: string[]) {
  const file = join(folder(), 'figures.json')
  const words = [example('four-agents.mjs'), '--figures', file, ...args]
  const env = args.includes('--store') ? { ...process.env, COUNTERFOIL_KEY: key } : process.env
  const { stdout } = await promisify(execFile)(process.execPath, words, { env })
  return { stdout, figures: JSON.parse(readFileSync(file, 'utf8')) }
}

test('N4 four agents, killed as a group at step 141 of 160, end without help', async () => {
  const { stdout, figures } = await fourAgents()
  expect(figures).toMatchObject({ steps: 160, starts: 2, duplicates: 0, asked: 0 })
  expect(stdout).toContain('step 141 of 160 is done, and nobody has been told: SIGKILL to all')
  expect(stdout).toMatch(/back at work \d+ ms after the kill, done after \d+ ms/)
  expect(figures.doneMs).toBeLessThan(60_000)
}, 300_000)

test('N4 with unsafe steps a person is asked, and nothing is done twice', async () => {
  const { stdout, figures } = await fourAgents('--unsafe')
  expect(figures).toMatchObject({ steps: 160, starts: 2, duplicates: 0 })
  expect(stdout.match(/a person is asked: agent-\d.*: mail: did it happen\?/g) ?? []).toHaveLength(
    figures.asked,
  )
}, 300_000)

describePostgres('on a server', () => {
  test('N4 L2 the four agents with their workers on Postgres: the same, without help', async () => {
    const url = postgresUrl()
    const { figures } = await fourAgents('--store', url)
    await dropSchema(url)
    expect(figures).toMatchObject({ steps: 160, starts: 2, duplicates: 0, asked: 0 })
    // Their end is proven at once, as on a file: nobody waits for a lease of 15 s.
    expect(figures.backMs).toBeLessThan(15_000)
    console.log(`four agents on Postgres: ${JSON.stringify(figures)}`)
  }, 300_000)
})
