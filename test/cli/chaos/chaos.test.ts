// counterfoil chaos on files as users write them: real processes, really killed.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { open } from '../../../src/index.ts'
import { describePostgres, key, postgresUrl, sql } from '../../postgres/bench.ts'
import { folder, misfits, run, start } from '../harness.ts'
import { library } from '../module.ts'

const longMs = 600_000

const tools = `import { tool, workflow } from '${library}'
const any = { '~standard': { version: 1, vendor: 't', validate: (value) => ({ value }) } }
const text = { '~standard': { version: 1, vendor: 't', validate: (value) =>
  typeof value?.to === 'string' ? { value } : { issues: [{ message: 'to is missing' }] } } }
const real = () => { throw new Error('nothing real may be sent') }
export const draft = tool({ name: 'draft', replayClass: 'pure', input: any, run: real })
export const mail = tool({ name: 'mail', replayClass: 'unsafe_on_replay', input: any, run: real })
export const charge = tool({ name: 'charge', replayClass: 'idempotent_with_key', input: any,
  keyTtlMs: Infinity, idempotencyKey: ({ to }, { runId }) => runId + to, run: real })`

const pay = `${tools}
export const pay = workflow({ id: 'pay@1.0.0', input: text, tools: [charge, mail],
  run: async ({ to }, ctx) => {
    const { id } = await ctx.call(charge, { to })
    await ctx.sleep(3 * 24 * 3_600_000)
    await ctx.approval({ title: 'Tell them?' })
    await ctx.call(mail, { to, id })
    return { id, to }
  } })
export const input = { to: 'acme' }`

const ignoring = `export const mocks = { mail: () => ({ id: 'm' }), charge: () => ({ id: 'c' }) }`
const honouring = `export const mocks = { mail: () => ({ id: 'm' }),
  charge: (input, call) => call.once(() => ({ id: 'c' })) }`

function file(...parts: string[]): string {
  const path = join(folder(), 'agent.mjs')
  writeFileSync(path, parts.join('\n'))
  return path
}

const finding = z.strictObject({
  kind: z.enum([
    ...['duplicate', 'lost', 'strange', 'key', 'end', 'drift', 'doubt', 'endless', 'crash'],
  ] as const),
  tool: z.string().nullable(),
  message: z.string(),
})
const count = z.number().int().min(0)
const Report = z.strictObject({
  ...{ ok: z.boolean(), subject: z.string(), store: z.enum(['sqlite', 'postgres']) },
  ...{ seed: count, boundaries: count, kills: count, duration_ms: count },
  tools: z.array(
    z.strictObject({
      tool: z.string(),
      replay_class: z.enum(['pure', 'idempotent_with_key', 'unsafe_on_replay']).nullable(),
      upstream: z.enum(['mock', 'recorded', 'real']),
      ...{ calls: count, effects: count, sent_again: count, effects_max: count },
      ...{ duplicates: count, lost: count, doubts: count, doubts_in_vain: count },
      class_holds: z.enum(['yes', 'no', 'assumed', 'not_tried']),
    }),
  ),
  points: z.array(
    z.strictObject({
      ...{ point: count, deaths: z.array(z.string()), duration_ms: count },
      doubts: z.array(
        z.strictObject({
          ...{ tool: z.string().nullable(), reason: z.string(), title: z.string() },
          happened: z.boolean(),
        }),
      ),
      findings: z.array(finding),
    }),
  ),
  ...{ not_compared: z.array(z.string()), notes: z.array(z.string()) },
})

async function chaos(args: readonly string[], env = {}) {
  const { code, stdout, stderr } = await run(['chaos', ...args, '--json'], env)
  return { code, stderr, report: stdout === '' ? null : Report.parse(JSON.parse(stdout)) }
}

/** The elements of an XML text; throws if it is not well-formed. */
function elements(xml: string): string[] {
  const open: string[] = []
  const found: string[] = []
  const rest = xml
    .replace(/^<\?xml [^>]*\?>/, '')
    .replaceAll(
      /<(\/?)([a-z]+)((?: [a-z]+="[^"<]*")*)(\/?)>/g,
      (_, closing, name, _attributes, empty) => {
        if (closing) expect(open.pop()).toBe(name)
        else found.push(name)
        if (!closing && !empty) open.push(name)
        return ''
      },
    )
  expect([open, /[<>]|&(?!(amp|lt|gt|quot|apos);)/.test(rest)]).toEqual([[], false])
  return found
}

test(
  'J2 a keyed tool whose upstream ignores the key is found out: exit 1, JUnit, JSON',
  async () => {
    const junit = join(folder(), 'chaos.xml')
    const { code, report } = await chaos([file(pay, ignoring), '--kills', '2', '--junit', junit])
    expect(code).toBe(1)
    expect(report).toMatchObject({ ok: false, subject: 'pay@1.0.0', store: 'sqlite', kills: 2 })
    const [bad, good] = ['charge', 'mail'].map((name) => report?.tools.find((t) => t.tool === name))
    expect(bad).toMatchObject({ effects_max: 2, duplicates: 1, class_holds: 'no' })
    expect(good).toMatchObject({ effects_max: 1, duplicates: 0, doubts: 1, class_holds: 'yes' })
    const [first, second] = report?.points ?? []
    expect(first?.deaths).toEqual(['after charge'])
    expect(first?.findings).toEqual([
      { kind: 'duplicate', tool: 'charge', message: expect.stringContaining('happened twice') },
    ])
    expect(second?.doubts).toEqual([
      { tool: 'mail', reason: 'unknown', title: 'mail: did it happen?', happened: true },
    ])
    const xml = readFileSync(junit, 'utf8')
    const names = elements(xml)
    expect(names.filter((name) => name === 'testcase')).toHaveLength(4)
    expect(names.filter((name) => name === 'failure')).toHaveLength(2)
    expect(xml).toContain('tests="4" failures="2"')
  },
  longMs,
)

test(
  'J2 one whose upstream honours it passes: exit 0, a table, nothing left behind',
  async () => {
    const scratch = folder()
    const words = ['chaos', file(pay, honouring), '--kills', '3', '--pairs']
    const { code, stdout, stderr } = await run(words, { TMPDIR: scratch })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/charge +keyed +1 +[1-9]\d* +1 +0 +0 +yes/)
    expect(stdout).toMatch(/mail +unsafe +1 +\d+ +1 +\d+ +\d+ +yes/)
    expect(stdout).toContain('Nothing happened twice, nothing was lost, every end is the same.')
    expect(misfits(stdout)).toEqual([])
    expect(readdirSync(scratch)).toEqual([])
  },
  longMs,
)

test(
  'J2 a run from a ledger is replayed: its input, its results, what people said',
  async () => {
    const dir = folder()
    const store = `sqlite:${join(dir, 'runs.db')}`
    const path = file(
      tools,
      `export const asking = workflow({ id: 'asking@1.0.0', input: text, tools: [charge],
      run: async ({ to }, ctx) => {
        const { answer } = await ctx.ask({ title: 'How much?' })
        const { approved } = await ctx.approval({ title: 'Pay it?' })
        return { ...(await ctx.call(charge, { to, answer })), approved }
      } })`,
    )
    const live = readFileSync(path, 'utf8').replaceAll('run: real', `run: () => ({ id: 'c-7' })`)
    writeFileSync(join(dir, 'live.mjs'), live)
    const { asking } = await import(join(dir, 'live.mjs'))
    const cf = await open({ store, graphs: [asking] })
    await cf.worker().start()
    const going = await cf.start(asking, { to: 'acme' }, { runId: 'acme-1' })
    for (const said of [{ outcome: 'respond', result: 70 }, { outcome: 'reject' }] as const) {
      await going.until('waiting_human')
      const [item] = (await cf.inbox.list()).items
      const by = { by: 'ana', reason: 'so', version: item?.version ?? 0 }
      await cf.inbox.decide(item?.itemId ?? '', { ...said, ...by })
    }
    expect(await going.result()).toEqual({ id: 'c-7', approved: false })
    await cf.close()
    const from = ['--from', store, '--run']
    const { code, report, stderr } = await chaos([path, ...from, 'acme-1', '--kills', '1'])
    expect([code, stderr]).toEqual([0, ''])
    // Nobody asked the real upstream what it makes of its key.
    expect(report?.tools).toMatchObject([
      { upstream: 'recorded', calls: 1, class_holds: 'assumed' },
    ])
    const none = await chaos([path, ...from, 'acme-2'])
    expect([none.code, JSON.parse(none.stderr).error.code]).toEqual([1, 'RUN_NOT_FOUND'])
  },
  longMs,
)

test(
  'J2 the answers come from a recorded run that failed, if it was meant to',
  async () => {
    const dir = folder()
    const store = `sqlite:${join(dir, 'runs.db')}`
    const path = file(
      tools,
      `export const saga = workflow({ id: 'saga@1.0.0', input: text, tools: [charge],
      run: async ({ to }, ctx) => {
        const { id } = await ctx.call(charge, { to })
        throw new Error('enough of ' + id)
      } })`,
    )
    const live = readFileSync(path, 'utf8').replaceAll('run: real', `run: () => ({ id: 'c-7' })`)
    writeFileSync(join(dir, 'live.mjs'), live)
    const { saga } = await import(join(dir, 'live.mjs'))
    const cf = await open({ store, graphs: [saga] })
    await cf.worker().start()
    const going = await cf.start(saga, { to: 'acme' }, { runId: 'acme-1' })
    await expect(going.result()).rejects.toThrow('enough of c-7')
    await cf.close()
    const asked = [path, '--from', store, '--run', 'acme-1', '--kills', '1']
    const { code, report, stderr } = await chaos([...asked, '--ends', 'failed'])
    expect([code, stderr]).toEqual([0, ''])
    expect(report?.tools).toMatchObject([{ upstream: 'recorded', calls: 1 }])
    const refused = await chaos(asked)
    const { error } = JSON.parse(refused.stderr)
    expect([refused.code, error.code]).toEqual([1, 'CHAOS_OPTIONS'])
    expect(error.message).toContain('--ends failed')
  },
  longMs,
)

const host = `${tools}
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
export async function agent(cf, { input, runId, dir }) {
  const path = join(dir, 'thread.json')
  const read = () => existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : []
  for (let done = read(); done.length < 2; done = read()) {
    const ids = { workflowId: runId, nodeId: 'tools', checkpointId: 'step-' + done.length }
    const scope = await cf.scope(ids)
    try {
      const { id } = await scope.call(mail, { to: input.to, n: done.length }, { callId: 'a' })
      writeFileSync(path, JSON.stringify([...done, id]))
    } finally { await scope.close() }
  }
  return read()
}
export const input = { to: 'acme' }
let sent = 0
export const mocks = { mail: () => ({ id: 'm-' + ++sent }) }`

test(
  'J2, C2 an agent on another runtime, with scopes, is killed like a graph',
  async () => {
    const { code, report, stderr } = await chaos([file(host), '--kills', '4', '--seed', '5'])
    expect([code, stderr]).toEqual([0, ''])
    expect(report?.kills).toBeGreaterThan(2)
    expect(report?.tools).toMatchObject([{ tool: 'mail', calls: 2, effects: 2, effects_max: 1 }])
    expect(report?.tools[0]?.doubts).toBeGreaterThan(0)
  },
  longMs,
)

const unguarded = `${host.replace('{ input, runId, dir }', '{ input, dir, upstream }')}`
  .replace(/const ids = .*\n.*cf\.scope.*\n/, '')
  .replace(/scope\.call\(mail, (.*?), \{ callId: 'a' \}\)/, `upstream('mail', $1)`)
  .replace('finally { await scope.close() }', 'finally {}')

test(
  'J2 control: a tool that asks its upstream without a guard is found to send twice',
  async () => {
    const junit = join(folder(), 'chaos.xml')
    const words = [file(unguarded), '--every-boundary', '--junit', junit]
    const { code, report, stderr } = await chaos(words)
    expect([code, stderr]).toEqual([1, ''])
    // Two mails, before and after each.
    expect(report).toMatchObject({ boundaries: 4, kills: 4 })
    expect(report?.tools).toMatchObject([
      { tool: 'mail', replay_class: null, effects_max: 2, duplicates: 2, class_holds: 'no' },
    ])
    expect(readFileSync(junit, 'utf8')).toContain('had 2 effects: it is not guarded')
  },
  longMs,
)

test(
  'J2 tools may be run for real: a sandbox counts, and its count is believed',
  async () => {
    const dir = folder()
    const book = join(dir, 'book.txt')
    const path = file(
      tools.replace(/export const mail = .*/, ''),
      `import { appendFileSync, readFileSync, existsSync } from 'node:fs'
    const lines = () => existsSync('${book}') ? readFileSync('${book}', 'utf8').length : 0
    const book = tool({ name: 'book', replayClass: 'idempotent_with_key', input: any,
      keyTtlMs: Infinity, idempotencyKey: (input, { runId }) => runId,
      run: async () => { appendFileSync('${book}', 'x'); return { id: 'b' } } })
    export const booking = workflow({ id: 'booking@1.0.0', input: any, tools: [book],
      run: (input, ctx) => ctx.call(book, { room: 7 }) })
    export const effects = async () => ({ book: lines() })`,
    )
    // One after the other, whatever is said: the sandbox counts for all.
    const args = [path, '--real', 'book', '--kills', '3', '--concurrency', '3']
    const { code, report } = await chaos(args)
    expect(code).toBe(1)
    expect(report?.tools).toMatchObject([{ upstream: 'real', effects_max: 2, class_holds: 'no' }])
    expect(report?.points.filter(({ findings }) => findings.length > 0).length).toBe(1)
    expect(report?.notes[0]).toContain('book')
  },
  longMs,
)

test(
  'J2 what chaos cannot work with is refused with a code, and nothing is begun',
  async () => {
    const two = `${tools}
    export const a = workflow({ id: 'a@1.0.0', input: any, run: async () => 1 })
    export const b = workflow({ id: 'b@1.0.0', input: any, run: async () => 1 })`
    const endless = `${tools}\nexport const a = workflow({ id: 'a@1.0.0', input: any,
    run: () => new Promise(() => {}) })`
    const leaving = `${tools}\nexport const a = workflow({ id: 'a@1.0.0', input: any,
    run: async () => process.exit(3) })`
    const cases: [code: string, exit: number, args: string[], says?: string][] = [
      ['MODULE_NOT_LOADED', 1, ['nowhere.mjs']],
      ['MODULE_NOT_LOADED', 1, [file(`throw new Error('broken file')`)], 'broken file'],
      ['MODULE_NOT_LOADED', 1, [file(pay, 'export const mocks = { mail: 1 }')], 'mail'],
      ['MODULE_WITHOUT_GRAPH', 1, [file('export const a = 1')], 'async function agent(cf'],
      ['GRAPH_UNKNOWN', 1, [file(host), '--graph', 'c'], 'its `agent` is run without --graph'],
      ['CHAOS_NO_REFERENCE', 1, [file('export const agent = () => 1')], 'called no tool through'],
      ['CLI_USAGE', 2, [file(pay), '--kills', '0']],
      ['CLI_USAGE', 2, [file(pay), '--junit', join(folder(), 'none', 'a.xml')], 'ENOENT'],
      ['CLI_USAGE', 2, [file(pay), '--junit', folder()], 'it is not a file'],
      ['GRAPH_UNKNOWN', 1, [file(two)], 'a@1.0.0, b@1.0.0'],
      ['GRAPH_UNKNOWN', 1, [file(two), '--graph', 'c'], 'a@1.0.0, b@1.0.0'],
      ['INPUT_INVALID', 1, [file(pay, honouring), '--input', '{}'], 'to is missing'],
      ['CHAOS_UPSTREAM_MISSING', 1, [file(pay)], 'charge, mail'],
      ['CHAOS_NO_REFERENCE', 1, [file(endless), '--timeout', '9s'], 'not ended after 9 s'],
      ['CHAOS_NO_REFERENCE', 1, [file(leaving)], 'exit code 3'],
      ['CLI_USAGE', 2, [file(pay), '--kills', 'many']],
      ['CLI_USAGE', 2, [file(pay), '--ends', 'fail'], 'completed, failed'],
      ['CLI_USAGE', 2, [file(pay), '--kills', '3', '--every-boundary']],
      ['CLI_USAGE', 2, [file(pay), '--from', 'sqlite:runs.db']],
      ['CLI_USAGE', 2, [file(pay), '--store', 'sqlite:runs.db']],
      ['JSON_INVALID', 2, [file(pay), '--input', '{to}']],
    ]
    for (const [code, exit, args, says = ''] of cases) {
      const ended = await chaos(args)
      const { error } = JSON.parse(ended.stderr)
      expect([error.code, ended.code], args.join(' ')).toEqual([code, exit])
      expect(error.message).toContain(says)
    }
  },
  longMs,
)

test(
  'J2 Ctrl-C leaves no process and no folder behind',
  async () => {
    const scratch = folder()
    const pids = join(scratch, 'pids')
    mkdirSync(pids)
    const noting = `import { writeFileSync } from 'node:fs'
    writeFileSync('${pids}/' + process.pid, '')`
    const going = start(['chaos', file(pay, honouring, noting)], { TMPDIR: scratch })
    await expect.poll(() => readdirSync(pids).length, { timeout: 60_000 }).toBeGreaterThan(2)
    going.child.kill('SIGINT')
    const { code } = await going.ended
    expect(code).toBe(130)
    expect(readdirSync(scratch)).toEqual(['pids'])
    const alive = () => readdirSync(pids).filter((pid) => existsSync(`/proc/${pid}/stat`))
    await expect.poll(alive, { timeout: 90_000 }).toEqual([])
  },
  longMs,
)

describePostgres('on Postgres', () => {
  test(
    'J2 schemas of its own are made, slept through, and dropped',
    async () => {
      const url = postgresUrl('counterfoil')
      const env = { COUNTERFOIL_KEY: key }
      const schemas = () => sql(url, `select 1 from pg_namespace where nspname like 'chaos\\_%'`)
      const words = [file(pay, honouring), '--store', url, '--kills', '2']
      const { code, report, stderr } = await chaos(words, env)
      expect([code, stderr]).toEqual([0, ''])
      expect(report).toMatchObject({ ok: true, store: 'postgres', kills: 2 })
      expect(await schemas()).toEqual([])
    },
    longMs,
  )

  test(
    'J2, K1 a LangGraph agent is killed there too, and its doubt is decided',
    async () => {
      const example = fileURLToPath(
        new URL('../../../examples/chaos-langgraph.mjs', import.meta.url),
      )
      const words = [example, '--store', postgresUrl('counterfoil'), '--kills', '3']
      const { code, report, stderr } = await chaos(words, { COUNTERFOIL_KEY: key })
      expect([code, stderr]).toEqual([0, ''])
      expect(report).toMatchObject({ ok: true, store: 'postgres', kills: 3 })
      expect(report?.tools.map(({ effects_max, doubts }) => [effects_max, doubts])).toEqual([
        [0, 0],
        [1, 0],
        [1, 1],
      ])
    },
    longMs,
  )
})

test('J2 a file whose top level never ends is named, and not waited for', async () => {
  const path = file('await new Promise(() => {})')
  const { code, stderr } = await run(['chaos', path, '--timeout', '2s'])
  expect(code).not.toBe(0)
  // Lines are wrapped, and paths with them.
  expect(stderr.replaceAll(/\s+/g, ' ')).toContain('was not loaded after 2 s')
  expect(stderr.replaceAll(/\s+/g, '')).toContain(path)
}, 300_000)
