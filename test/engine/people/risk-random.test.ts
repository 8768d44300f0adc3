// Random programs under a risk policy that lets pass, holds and refuses, with questions among their
// calls: killed, paused, drained, decided and tried again at random moments. Nothing is sent that
// was not agreed to, nothing twice, nobody is asked twice, and every run ends.
import { expect, test } from 'vitest'
import type { Fate } from '../../../src/client/run/retry.ts'
import { RefusedError } from '../../../src/model/errors.ts'
import type { Context } from '../../../src/model/graph/context.ts'
import type { Graph } from '../../../src/model/graph/graph.ts'
import { type Item, keyOf } from '../../../src/model/run/records.ts'
import { isEnded, type RunState } from '../../../src/model/run/states.ts'
import type { RiskPolicy } from '../../../src/model/tool/risk.ts'
import { type Fake, fake, flow, Lab, work } from '../../lab.ts'
import { seeded } from '../../sim/clock.ts'
import { type CallNode, generate, hash, run } from '../../sim/program.ts'

interface Input {
  v: string
  site: string
  ms: number
  fails: boolean
}

type Told = 'run' | 'approve' | 'edit' | 'reject' | 'refuse'

/** What becomes of a call: always the same for the same site. */
function told(site: string, seed: number): Told {
  const drawn = Number.parseInt(hash(`${site}/${seed}`), 36) % 10
  return drawn < 4
    ? 'run'
    : drawn < 7
      ? 'approve'
      : drawn < 8
        ? 'edit'
        : drawn < 9
          ? 'reject'
          : 'refuse'
}

function makeTools(lab: Lab): Map<string, Fake<{ value: string }>> {
  const classes = {
    pure: 'pure',
    keyed: 'idempotent_with_key',
    unsafe: 'unsafe_on_replay',
  } as const
  const keyed = { idempotencyKey: (i: unknown) => JSON.stringify(i), keyTtlMs: 1e12 }
  const all = (['pure', 'keyed', 'unsafe'] as const).flatMap((kind) =>
    ['a', 'b'].map((x) =>
      fake<{ value: string }>(lab, `${kind}_${x}`, classes[kind], {
        ...(kind === 'keyed' ? keyed : {}),
        ms: 0,
        does: async (_, raw) => {
          const { site, ms, fails } = raw as Input
          await work(lab, ms)
          if (fails) throw new RefusedError('no')
          return { value: site }
        },
      }),
    ),
  )
  return new Map(all.map((each) => [each.tool.name, each]))
}

function graphOf(lab: Lab, seed: number, tools: Map<string, Fake<{ value: string }>>): Graph {
  const program = generate(seed, 'plain')
  const question = async (ctx: Context, site: string) => {
    const { outcome } = await ctx.approval({ title: site, data: { at: lab.clock.now() } })
    return { value: outcome }
  }
  return flow(
    [...tools.values()].map((each) => each.tool),
    async (ctx) => {
      const call = async (node: CallNode, v: string) => {
        const { site, latencyMs: ms, fails } = node
        const asks = node.callClass === 'pure' && Number.parseInt(hash(site + seed), 36) % 4 === 0
        if (asks) return question(ctx, site)
        const { tool } = tools.get(node.tool) as Fake<{ value: string }>
        return ctx.call(tool, { v, site, ms, fails })
      }
      const env = { local: 'in', shared: { value: '0' } }
      const machine = { call, sleep: (ms: number) => work(lab, ms), now: () => 0 }
      await run(program, env, { ...machine, nonce: () => '' })
    },
  )
}

/** A person who knows what was sent, and does what is told. */
async function decideOne(lab: Lab, seed: number, tools: Map<string, Fake<unknown>>, item: Item) {
  const { itemId, version, kind, body, title } = item
  const say = (said: object) =>
    lab.inbox.decide(itemId, { by: 'p', reason: 'r', version, madeSure: true, ...said } as never)
  if (body.subject?.tool === 'counterfoil.approval') {
    const outcome = (['approve', 'reject'] as const)[title.length % 2]
    return say({ outcome })
  }
  const input = body.input as Input
  if (kind === 'approval') {
    const outcome = told(input.site, seed)
    if (outcome === 'edit') return say({ outcome, result: { ...input, v: 'edited' } })
    return say({ outcome })
  }
  // A failure that was ridden over by a retry sends the program another way.
  if (item.reason === 'drift') return say({ outcome: 'abandon' })
  expect(item.reason).toBe('unknown')
  const sent = tools.get(body.subject?.tool ?? '')?.sent ?? []
  const did = sent.some((each) => (each.input as Input).site === input.site)
  if (!did) return say({ outcome: 'did_not_happen' })
  return input.fails
    ? say({ outcome: 'fail' })
    : say({ outcome: 'happened', result: { value: input.site } })
}

/** How often a call was allowed to be sent once more, by its site. */
type Allowed = Map<string, number>

async function retrySome(lab: Lab, random: () => number, allowed: Allowed): Promise<boolean> {
  if ((await lab.state()) !== 'failed' || (await lab.error()).code === 'RUN_ABANDONED') return false
  if (random() < 0.4) return false
  const calls: Record<string, Fate> = {}
  for (const { name, input } of await lab.failedCalls()) {
    const drawn = random()
    const site = (input as Input | null)?.site ?? ''
    calls[name] = drawn < 0.5 ? 'send' : drawn < 0.8 ? 'keep' : { happened: { value: site } }
    if (calls[name] === 'send') allowed.set(site, (allowed.get(site) ?? 0) + 1)
  }
  await lab.retry({ calls, madeSure: true })
  return true
}

async function live(seed: number, random: () => number): Promise<Lab> {
  const allowed: Allowed = new Map()
  const lab = new Lab()
  const tools = makeTools(lab)
  const graph = graphOf(lab, seed, tools)
  const policy: RiskPolicy = async ({ input }) => {
    const { site } = input as Input
    const answer = told(site, seed)
    if (answer === 'run') return 'run'
    if (site.length % 2 === 0) await work(lab, 15)
    return answer === 'refuse' ? { refuse: 'no' } : { ask: true }
  }
  for (let process = 0; process < 60; process++) {
    const from = lab.clock.events
    const killAt = random() < 0.6 ? from + 1 + Math.floor(random() * 60) : Number.POSITIVE_INFINITY
    const wishAt = random() < 0.3 ? from + 1 + Math.floor(random() * 60) : Number.POSITIVE_INFINITY
    const drainAt = random() < 0.2 ? from + 1 + Math.floor(random() * 60) : Number.POSITIVE_INFINITY
    let wished = false
    const leaveWhen = () => {
      if (lab.clock.events >= drainAt) lab.execution?.drain()
      if (lab.clock.events >= wishAt && !wished) {
        wished = true
        lab.wish('pause').catch(() => {})
      }
      return false
    }
    const killWhen = () => lab.clock.events >= killAt
    await lab.process(graph, null, { policy, killWhen, leaveWhen, obeysMs: 11 })
    const state = (await lab.state()) as RunState
    if (isEnded(state) && !(await retrySome(lab, random, allowed))) break
    const items = await lab.items()
    const [item] = items
    if (item && random() < 0.8) await decideOne(lab, seed, tools, item)
    if ((await lab.state()) === 'paused') await lab.wish('resume')
  }
  await judge(lab, seed, tools, allowed)
  return lab
}

async function judge(
  lab: Lab,
  seed: number,
  tools: Map<string, Fake<unknown>>,
  allowed: Allowed,
): Promise<void> {
  expect(['completed', 'failed']).toContain(await lab.state())
  const decisions = await lab.decisions()
  for (const { tool, sent } of tools.values()) {
    if (tool.replayClass === 'pure') continue
    for (const one of sent) {
      const { site, v } = one.input as Input
      const same = sent.filter((each) => (each.input as Input).site === site)
      // What a person lets be sent once more may have another input by then, and so another key.
      const unsafe = tool.replayClass === 'unsafe_on_replay'
      const effects = unsafe ? same.length : new Set(same.map((each) => each.key)).size
      expect([site, effects <= 1 + (allowed.get(site) ?? 0)]).toEqual([site, true])
      const what = told(site, seed)
      expect(['run', 'approve', 'edit']).toContain(what)
      expect([site, v === 'edited']).toEqual([site, what === 'edit'])
    }
  }
  const approvals = decisions.filter((row) => row.kind === 'approval')
  const keys = approvals.flatMap(({ subject }) => (subject ? [keyOf(subject)] : []))
  expect(new Set(keys).size).toBe(keys.length)
  expect(await lab.items()).toEqual([])
  expect(await lab.findings()).toEqual([])
}

test('E1 I5 I7 nothing is sent without consent, nothing twice, nobody asked twice', async () => {
  const random = seeded(42)
  let decided = 0
  for (let seed = 1; seed <= 60; seed++) {
    for (let life = 0; life < 4; life++) {
      const lab = await live(seed, random).catch((error) => {
        throw Object.assign(error, { message: `seed ${seed}, life ${life}: ${error.message}` })
      })
      decided += (await lab.decisions()).length
    }
  }
  expect(decided).toBeGreaterThan(300)
})
