// Agents of the AI SDK in real processes, killed in the middle of their tools: without us a mail
// goes out twice, with us once at most and a person is asked.
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { type Effect, faults, Site } from '../../crash/driver.ts'
import { describePostgres, postgresUrl } from '../../postgres/bench.ts'
import { killsWanted as wanted } from '../../size.ts'

const program = fileURLToPath(new URL('./agent.mjs', import.meta.url))
// Each moment once.
const killsWanted = wanted(8, 1 / 8)

/** In the middle of tools, and around what is written for them. */
const moments = [
  'after mail:1',
  'before mail:1',
  'after mail:2',
  'after charge:1',
  'after model:2',
  'after mail:1',
  'after commit:4',
  'before commit:5',
]

function expected(to: string) {
  return [
    { tool: 'mail', input: { to, subject: 'hello' } },
    { tool: 'charge', input: { to, n: 1 } },
    { tool: 'mail', input: { to, subject: 'bye' } },
  ]
}

function ofThread(effects: readonly Effect[], thread: string): Effect[] {
  return effects.filter(({ input }) => (input as { to: string }).to === thread)
}

/** A reply was asked for again although something of it, or after it, had been sent. */
function askedAgain(effects: readonly Effect[], thread: string): string[] {
  const turnOf = { hello: 0, bye: 1 } as Record<string, number>
  let reached = -1
  return ofThread(effects, thread).flatMap(({ tool, input }) => {
    const { turn, subject } = input as { turn?: number; subject?: string }
    if (tool === 'model') return (turn ?? 0) <= reached ? [`${thread} asked again: ${turn}`] : []
    reached = Math.max(reached, subject === undefined ? 1 : (turnOf[subject] ?? 0))
    return []
  })
}

function wrongIn(effects: readonly Effect[], threads: readonly string[]): string[] {
  return threads.flatMap((thread) => [
    ...faults(
      ofThread(effects, thread).filter(({ tool }) => tool !== 'model'),
      expected(thread),
    ),
    ...askedAgain(effects, thread),
  ])
}

interface Kind {
  readonly how: 'alone' | 'workflow'
  readonly major: 'ai' | 'ai7'
}

/** Each process takes over what the one before left, begins a thread of its own, and dies. */
async function killedAgain(site: Site, { how, major }: Kind) {
  const threads: string[] = []
  let open: string[] = []
  const spawn = (dieAt: string, work: readonly string[]) =>
    site.spawn(program, [site.store, site.port, how, major, dieAt, work.join(',')]).exit
  let kills = 0
  for (let n = 0; kills < killsWanted; n++) {
    const thread = `${how}-${n}`
    threads.push(thread)
    open.push(thread)
    const { signal, code, out, error } = await spawn(moments[n % moments.length] ?? '-', open)
    if (signal === 'SIGKILL') kills++
    else if (code === 0) open = unfinished(open, out)
    else throw new Error(`agent: ${code ?? signal}, ${error}`)
    await site.decideAll()
    open = open.slice(-3)
  }
  for (let round = 0; ; round++) {
    const { code, out, error } = await spawn('-', threads)
    if (code !== 0) throw new Error(`an agent that was to finish: ${code}, ${error}`)
    if (unfinished(threads, out).length === 0) break
    if (round > 20) throw new Error('threads ask for ever')
    await site.decideAll()
  }
  return { kills, threads }
}

function unfinished(threads: readonly string[], out: string): string[] {
  const states = JSON.parse(out) as string[]
  return threads.filter((_, n) => states[n] !== 'done')
}

const kinds: readonly Kind[] = [
  { how: 'alone', major: 'ai' },
  { how: 'workflow', major: 'ai7' },
]

async function figuresOf(kind: Kind, store?: string) {
  const site = await Site.open(1, store)
  const { kills, threads } = await killedAgain(site, kind)
  const effects = site.effects()
  const { doubts, falseDoubts } = site
  const asks = effects.filter(({ tool }) => tool === 'model').length
  const figures = { kills, threads: threads.length, effects: effects.length, asks }
  console.log(`AI SDK agents: ${JSON.stringify({ ...kind, ...figures, doubts, falseDoubts })}`)
  const wrong = [...wrongIn(effects, threads), ...(await site.findings())]
  await site.close()
  return { wrong, kills, doubts }
}

/** Side by side: most of the time goes into starting processes. */
async function expectSafe(url: () => string | undefined): Promise<void> {
  const found = await Promise.all(kinds.map((kind) => figuresOf(kind, url())))
  for (const { wrong, kills, doubts } of found) {
    expect(wrong).toEqual([])
    expect(kills).toBe(killsWanted)
    expect(doubts).toBeGreaterThan(kills / 4)
  }
}

describe('SQLite', () => {
  test('K2, J1 agents are killed in their tools', async () => {
    await expectSafe(() => undefined)
  }, 600_000)

  test('K2 the control: messages that are saved after each step send twice', async () => {
    const site = await Site.open()
    for (const major of ['ai', 'ai7']) {
      for (const dieAt of ['after mail:1', '-']) {
        const args = [site.store, site.port, 'plain', major, dieAt, `${major}-1`]
        const { signal, code } = await site.spawn(program, args).exit
        expect(dieAt === '-' ? code : signal).toBe(dieAt === '-' ? 0 : 'SIGKILL')
      }
    }
    const wrong = wrongIn(site.effects(), ['ai-1', 'ai7-1'])
    const twice = wrong.filter((line) => line.startsWith('TWICE') && line.includes('hello'))
    expect(twice).toHaveLength(2)
    await site.close()
  }, 120_000)
})

describePostgres('Postgres', () => {
  test('K2, J1 agents are killed in their tools', async () => {
    await expectSafe(() => postgresUrl())
  }, 600_000)
})
