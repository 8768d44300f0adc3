// Agents of LangGraph in real processes, killed in the middle of their tool nodes: without us a
// mail goes out twice, with us once at most and a person is asked, by LangGraph's own command or in
// the inbox.
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { type Effect, faults, Site } from '../../crash/driver.ts'
import { answerTo } from '../../crash/programs/truth.mjs'
import { describePostgres, postgresUrl } from '../../postgres/bench.ts'
import { killsWanted as wanted } from '../../size.ts'

const program = fileURLToPath(new URL('./agent.mjs', import.meta.url))
// Each moment once.
const killsWanted = wanted(14, 1 / 4)
const atOnceWanted = wanted(12, 1 / 8)

/** In the middle of tool nodes, around what is written for them and for LangGraph. */
const moments = [
  'after mail:1',
  'before mail:1',
  'after mail:2',
  'after charge:1',
  'after putWrites:1',
  'before putWrites:2',
  'after mail:1',
  'after model:2',
  'after commit:2',
  'before putStep:3',
  'after putStep:3',
  'after mail:2',
  'before commit:3',
  'after commit:4',
]

interface End {
  readonly state: 'done' | 'waiting'
  readonly said: readonly string[]
}

interface Work {
  threads: string[]
  /** What threads are resumed with. */
  answers: Record<string, unknown>
  /** Threads whose items were decided in the inbox. */
  watched: string[]
}

/** Several invocations of each thread at once, in one process or each in one of its own. */
interface AtOnce {
  readonly requests: number
  readonly processes: number
}

function ofThread(effects: readonly Effect[], thread: string): Effect[] {
  return effects.filter(({ input }) => (input as { to: string }).to === thread)
}

function expected(to: string) {
  return [
    { tool: 'mail', input: { to, subject: 'hello' } },
    { tool: 'charge', input: { to, n: 1 } },
    { tool: 'mail', input: { to, subject: 'bye' } },
  ]
}

/** A reply was asked for again although something of it, or after it, had been sent. */
function askedAgain(effects: readonly Effect[]): string[] {
  let reached = -1
  return effects.flatMap(({ tool, input }) => {
    const { turn, subject } = input as { turn?: number; subject?: string }
    if (tool === 'model') return (turn ?? 0) <= reached ? [`asked again: ${turn}`] : []
    reached = Math.max(reached, subject === 'hello' ? 0 : 1)
    return []
  })
}

/** What the thread has been told is what the upstream did. */
function wrongTold(effects: readonly Effect[], thread: string, { said }: End): string[] {
  const told = (tool: string, subject?: string) => {
    const isIt = (effect: Effect) =>
      effect.tool === tool && (effect.input as { subject?: string }).subject === subject
    return `tool: ${JSON.stringify(effects.find(isIt)?.result)}`
  }
  const wanted = [
    ...[`human: ${thread}`, 'ai: ', `tool: found ${thread}`, told('mail', 'hello')],
    ...['ai: ', told('charge'), told('mail', 'bye'), 'ai: All done.'],
  ]
  return JSON.stringify(said) === JSON.stringify(wanted) ? [] : [`told ${said.join(', ')}`]
}

class Run {
  readonly site: Site
  readonly ends = new Map<string, End>()
  work: Work = { threads: [], answers: {}, watched: [] }
  byCommand = 0
  byInbox = 0

  private readonly atOnce: (n: number) => AtOnce

  constructor(site: Site, atOnce: (n: number) => AtOnce) {
    this.site = site
    this.atOnce = atOnce
  }

  /** The first of the processes dies; the others see their requests through. */
  async process(dieAt: string, n = 0): Promise<'killed' | 'ended'> {
    const { requests, processes } = this.atOnce(n)
    const others = Array.from({ length: processes - 1 }, () => this.one('-', requests))
    const [first] = await Promise.all([this.one(dieAt, requests), ...others])
    return first
  }

  private async one(dieAt: string, requests: number): Promise<'killed' | 'ended'> {
    const { work, site } = this
    const given = JSON.stringify({ ...work, requests })
    const args = [site.store, site.port, 'guarded', dieAt, given]
    const { signal, code, out, error } = await site.spawn(program, args).exit
    if (signal === 'SIGKILL') return 'killed'
    if (code !== 0) throw new Error(`agent, ${dieAt}: ${code ?? signal}, ${error}`)
    const ends = JSON.parse(out) as End[]
    for (const [i, thread] of [...work.threads, ...work.watched].entries()) {
      if (ends[i]) this.ends.set(thread, ends[i])
    }
    return 'ended'
  }

  /** As a person does: half by the command that LangGraph knows, half in the inbox. */
  async decide(): Promise<void> {
    const { site, work } = this
    const all = [...new Set([...work.threads, ...work.watched])]
    const answers: Record<string, unknown> = {}
    const watched: string[] = []
    await fetch(`http://127.0.0.1:${site.port}`)
    await site.with(async (cf) => {
      for (const { itemId, runId, version, ...item } of (await cf.inbox.list()).items) {
        const said = answerTo({ itemId, runId, version, ...item }, site.effects())
        const by = { by: 'driver', reason: 'asked the upstream', madeSure: true }
        site.doubts++
        if (Number(runId.split('-')[1]) % 2 === 0) {
          answers[runId] = { itemId, ...said, ...by }
          this.byCommand++
        } else {
          await cf.inbox.decide(itemId, { ...said, ...by, version })
          watched.push(runId)
          this.byInbox++
        }
      }
    })
    const open = all.filter((thread) => this.ends.get(thread)?.state !== 'done')
    this.work = { threads: open.filter((each) => !watched.includes(each)), answers, watched }
  }
}

const one = () => ({ requests: 1, processes: 1 })

async function killed(store?: string, atOnce: (n: number) => AtOnce = one, killMax = killsWanted) {
  const site = await Site.open(1, store)
  const run = new Run(site, atOnce)
  const threads: string[] = []
  let kills = 0
  for (let n = 0; kills < killMax; n++) {
    const thread = `t-${n}`
    threads.push(thread)
    run.work.threads.push(thread)
    if ((await run.process(moments[n % moments.length] ?? '-', n)) === 'killed') kills++
    await run.decide()
  }
  for (let round = 0; threads.some((each) => run.ends.get(each)?.state !== 'done'); round++) {
    if (round > 20) throw new Error('threads ask for ever')
    await run.process('-')
    await run.decide()
  }
  const effects = site.effects()
  const wrong = threads.flatMap((thread) => {
    const own = ofThread(effects, thread)
    const sent = own.filter(({ tool }) => tool !== 'model')
    const end = run.ends.get(thread) as End
    const again = atOnce === one ? askedAgain(own) : []
    const found = [...faults(sent, expected(thread)), ...again]
    return [...found, ...wrongTold(own, thread, end)].map((line) => `${thread} ${line}`)
  })
  wrong.push(...(await site.findings()))
  const { byCommand, byInbox } = run
  const figures = { kills, threads: threads.length, doubts: site.doubts, byCommand, byInbox }
  console.log(`LangGraph agents: ${JSON.stringify(figures)}`)
  await site.close()
  return { wrong, ...figures }
}

async function expectSafe(store?: string): Promise<void> {
  const { wrong, kills, byCommand, byInbox } = await killed(store)
  expect(wrong, wrong.join('; ')).toEqual([])
  expect(kills).toBe(killsWanted)
  expect(Math.min(byCommand, byInbox)).toBeGreaterThan(kills / 10)
}

/** Two, then three requests; in one process, then in two. */
async function expectSafeAtOnce(store?: string): Promise<void> {
  const atOnce = (n: number) => ({ requests: 2 + (n % 2), processes: 1 + (Math.floor(n / 2) % 2) })
  const { wrong, kills } = await killed(store, atOnce, atOnceWanted)
  expect(wrong, wrong.join('; ')).toEqual([])
  expect(kills).toBe(atOnceWanted)
}

describe('SQLite', () => {
  test('K1, C2 agents are killed with two and three requests at once', async () => {
    await expectSafeAtOnce()
  }, 600_000)

  test('K1, J1 agents are killed in their tool nodes', async () => {
    await expectSafe()
  }, 600_000)

  test("K1 the control: LangGraph's own saver sends twice", async () => {
    const site = await Site.open()
    const work = JSON.stringify({ threads: ['t-0'] })
    for (const dieAt of ['after mail:1', '-']) {
      const args = [site.store, site.port, 'plain', dieAt, work]
      const { signal, code } = await site.spawn(program, args).exit
      expect(dieAt === '-' ? code : signal).toBe(dieAt === '-' ? 0 : 'SIGKILL')
    }
    const sent = ofThread(site.effects(), 't-0').filter(({ tool }) => tool !== 'model')
    const twice = faults(sent, expected('t-0')).filter((line) => line.includes('hello'))
    expect(twice).toEqual([expect.stringMatching(/^TWICE/)])
    await site.close()
  }, 120_000)
})

describePostgres('Postgres', () => {
  test('K1, C2 agents are killed with two and three requests at once', async () => {
    await expectSafeAtOnce(postgresUrl())
  }, 600_000)

  test('K1, J1 agents are killed in their tool nodes', async () => {
    await expectSafe(postgresUrl())
  }, 600_000)
})
