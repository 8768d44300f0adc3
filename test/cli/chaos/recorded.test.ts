// counterfoil chaos with the answers of a recorded run: the replay goes the way that it went.
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { open } from '../../../src/index.ts'
import type { Item } from '../../../src/model/run/records.ts'
import type { ChaosFinding } from '../../../src/testing/index.ts'
import { folder, run } from '../harness.ts'
import { library } from '../module.ts'

const longMs = 300_000

const any = `import { tool, workflow } from '${library}'
const any = { '~standard': { version: 1, vendor: 't', validate: (value) => ({ value }) } }
const unsafe = (name, run, more) =>
  tool({ name, replayClass: 'unsafe_on_replay', input: any, run, ...more })`

interface Recorded {
  readonly output: unknown
  /** Replays it, with one more line at the end of the file. */
  replay(line?: string): Promise<{ code: number | null; notes: string[]; found: string[] }>
}

type Said = { outcome: 'edit' | 'reject' | 'fail' | 'approve'; result?: unknown }

/** Runs a file's graph `w` to its end; `say` is the person who decides. */
async function record(text: string, say: (item: Item) => Said): Promise<Recorded> {
  const dir = folder()
  const path = join(dir, 'agent.mjs')
  writeFileSync(path, `${any}\n${text}`)
  const { w, gate } = await import(path)
  const store = `sqlite:${join(dir, 'runs.db')}`
  const cf = await open({ store, graphs: [w], ...(gate ? { gate } : {}), onWarning: () => {} })
  await cf.worker().start()
  const going = await cf.start(w, {}, { runId: 'acme-1' })
  while ((await going.until('waiting_human', 'completed')).state !== 'completed') {
    for (const item of (await cf.inbox.list()).items) {
      const by = { by: 'ana', reason: 'so', version: item.version, madeSure: true }
      await cf.inbox.decide(item.itemId, { ...say(item), ...by })
    }
  }
  const output = await going.result()
  await cf.close()
  const words = ['chaos', path, '--from', store, '--run', 'acme-1', '--kills', '2', '--json']
  return {
    output,
    replay: async (line = '') => {
      appendFileSync(path, `\n${line}`)
      const { code, stdout, stderr } = await run(words)
      expect(stderr).toBe('')
      const { points, notes } = JSON.parse(stdout) as {
        points: { findings: ChaosFinding[] }[]
        notes: string[]
      }
      const found = points.flatMap(({ findings }) => findings.map(({ message }) => message))
      return { code, notes, found }
    },
  }
}

test(
  'J2 what was said about calls that the gate held is on record in decisions only, and is read',
  async () => {
    const log = join(folder(), 'asked')
    const text = `import { appendFileSync } from 'node:fs'
    const pay = unsafe('pay', async ({ usd }) => ({ paid: usd }))
    const gift = unsafe('gift', async () => 1)
    export const gate = () => ({ ask: { title: 'held' } })
    export const w = workflow({ id: 'w@1.0.0', input: any, tools: [pay, gift],
      run: async (_, ctx) => {
        const paid = await ctx.call(pay, { usd: 100 })
        const given = await ctx.call(gift, { usd: 7 }).catch((error) => error.code)
        return { paid, given }
      } })`
    const { output, replay } = await record(text, ({ body }) =>
      body.subject?.tool === 'pay'
        ? { outcome: 'edit', result: { usd: 40 } }
        : { outcome: 'reject' },
    )
    expect(output).toEqual({ paid: { paid: 40 }, given: 'CALL_FAILED' })
    // The upstream's own answers, to what was sent instead.
    expect(await replay()).toEqual({ code: 0, notes: [], found: [] })
    const note = (name: string) =>
      `${name}: (input) => { appendFileSync('${log}', '${name} ' + input.usd + '\\n'); ` +
      'return { paid: input.usd } }'
    const noted = await replay(`export const mocks = { ${note('pay')}, ${note('gift')} }`)
    expect([noted.code, noted.found]).toEqual([0, []])
    const asked = readFileSync(log, 'utf8').trim().split('\n')
    expect([...new Set(asked)]).toEqual(['pay 40'])
  },
  longMs,
)

test(
  'J2 a call that a person failed in doubt was replayed as a refusal: it is unknown again',
  async () => {
    const text = `
    const send = unsafe('send', async () => { throw new Error('who knows') }, { quietMs: 0 })
    const alarm = unsafe('alarm', async () => 1)
    export const w = workflow({ id: 'w@1.0.0', input: any, tools: [send, alarm],
      run: async (_, ctx) => {
        const code = await ctx.call(send, {}).catch((error) => error.code)
        if (code === 'OUTCOME_UNKNOWN') await ctx.call(alarm, {})
        return code
      } })`
    const { output, replay } = await record(text, () => ({ outcome: 'fail' }))
    expect(output).toBe('OUTCOME_UNKNOWN')
    expect(await replay()).toEqual({ code: 0, notes: [], found: [] })
    // An upstream that answers otherwise leads another way, and is told so.
    const refusing = `export const mocks = { send: () => {
      throw Object.assign(new Error('no'), { code: 'REFUSED' }) } }`
    expect((await replay(refusing)).notes).toEqual([
      'the replay does not end as the recorded run did: ' +
        'output is "CALL_FAILED" instead of "OUTCOME_UNKNOWN"',
    ])
  },
  longMs,
)
