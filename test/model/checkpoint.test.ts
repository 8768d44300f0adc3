import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { canonical, sha256 } from '../../src/model/json/canonical.ts'
import {
  type ChainRead,
  type CheckpointMode,
  checkpointSchemaVersion,
  type Expected,
  firstCheckpoint,
  nextCheckpoint,
  readChain,
  rebase,
  type Written,
} from '../../src/model/run/checkpoint.ts'
import type { Checkpoint } from '../../src/model/run/records.ts'
import { absorb, mergePatch } from '../../src/model/run/state.ts'
import { fc } from '../seed.ts'

const run = { namespace: 'default', runId: 'r1', generation: 0 }
const here = { ...run, node: 'plan', version: '1.0.0', createdAt: 5 }
const expected = { version: '1.0.0' }

/** The chain that a writer makes of these states, with the last of what it gave. */
function write(
  states: readonly unknown[],
  mode?: CheckpointMode,
): { rows: Checkpoint[] } & Written {
  let last = firstCheckpoint(here, states[0])
  const rows = [last.row]
  for (const [i, state] of states.slice(1).entries()) {
    last = nextCheckpoint(last, { ...here, visit: i + 2, node: `node-${i}` }, state, mode)
    rows.push(last.row)
  }
  return { ...last, rows }
}

function bytes(rows: readonly Checkpoint[]): number {
  return rows.reduce((sum, row) => sum + Buffer.byteLength(row.bodyJson), 0)
}

function bases(rows: readonly Checkpoint[]): number {
  return rows.filter((row) => row.kind === 'base').length
}

function fromLastBase(rows: readonly Checkpoint[]): Checkpoint[] {
  return rows.slice(rows.findLastIndex((row) => row.kind === 'base'))
}

function why(read: ChainRead): string {
  return read.ok ? 'nothing' : read.why
}

const message = (i: number) => ({ role: i % 2 ? 'user' : 'tool', text: `message ${i} é`, n: [i] })

/** States of a conversation, as nodes make them: each shares with the one before. */
function conversation(count: number): unknown[] {
  const states: { step: number; messages: object[] }[] = [absorb({ step: 0, messages: [] })]
  for (let i = 1; i < count; i++) {
    const before = states[i - 1]?.messages ?? []
    states.push(absorb({ step: i, messages: [...before, message(i)] }))
  }
  return states
}

/** H(previous, row), as it is written down for others. */
function digestOf(row: Checkpoint, previous: string): string {
  const place = [row.schemaVersion, row.namespace, row.runId, row.generation, row.visit, row.node]
  const text = canonical([...place, row.version, row.kind, row.baseVisit, row.bodyJson])
  return createHash('sha256').update(previous).update(text).digest('base64url')
}

interface Golden {
  expected: Expected
  state: unknown
  rows: Checkpoint[]
  steps?: { node: string; visit: number; createdAt: number; state: unknown }[]
}

const folder = new URL('../replay/checkpoints/', import.meta.url)
const golden = (name: string): Golden => JSON.parse(readFileSync(new URL(name, folder), 'utf8'))
const names = readdirSync(folder)

describe('golden chains', () => {
  test('D8 golden: there is a chain of every format', () => {
    const formats = names.flatMap((name) => golden(name).rows.map((row) => row.schemaVersion))
    const wanted = Array.from({ length: checkpointSchemaVersion }, (_, i) => i + 1)
    expect([...new Set(formats)].sort()).toEqual(wanted)
  })

  test.each(names)('D8 golden: %s loads, whole and from each of its bases on', (name) => {
    const { rows, state, expected } = golden(name)
    const starts = rows.flatMap((row, i) => (row.kind === 'base' ? [i] : []))
    for (const start of starts) {
      const read = readChain(rows.slice(start), expected)
      expect(why(read)).toBe('nothing')
      expect(read.ok && canonical(read.state)).toBe(canonical(state))
    }
  })

  test('D8 golden: the writer makes the rows of v2.json to the byte', () => {
    const { rows, steps = [], expected } = golden('v2.json')
    const { namespace = '', runId = '', generation = 0, version } = expected
    let last: Written | null = null
    for (const [i, { state, ...at }] of steps.entries()) {
      const place = { namespace, runId, generation, version, ...at }
      last = last ? nextCheckpoint(last, place, state) : firstCheckpoint(place, state)
      expect(last.row).toStrictEqual(rows[i])
      const read = readChain(rows.slice(0, i + 1), { ...expected, ...at })
      expect(read.ok && canonical(read.state)).toBe(canonical(state))
    }
    expect(rows.map((row) => row.kind).join(' ')).toBe(
      'base delta delta delta delta base delta delta',
    )
  })

  test('D10 every digest covers its row and the digest before, and nothing else', () => {
    let previous = ''
    for (const row of golden('v2.json').rows) {
      expect(row.digest).toBe(digestOf(row, previous))
      expect(row.previous).toBe(row.kind === 'base' ? previous || null : null)
      previous = row.digest
    }
  })

  test('D8 a chain goes on after a row of format 1', () => {
    const { rows, state, expected } = golden('v1.json')
    const read = readChain(rows, expected)
    if (!read.ok) throw new Error(read.why)
    const place = { ...here, runId: 'acme-1', node: 'send', visit: 2 }
    const after = mergePatch(state, { draft: 'Dear' })
    const next = nextCheckpoint(read, place, after)
    expect(next.row).toMatchObject({ kind: 'delta', bodyJson: '{"draft":"Dear"}' })
    const both = readChain([...rows, next.row], { ...expected, visit: 2, node: 'send' })
    expect(both).toEqual({ ok: true, state: after, facts: next.facts })
  })
})

describe('formats', () => {
  test('D8 a newer format is left alone, and the error says what to do', () => {
    const { rows } = write(conversation(3))
    const newer = rows.with(2, { ...(rows[2] as Checkpoint), schemaVersion: 3 })
    expect(() => readChain(newer, expected)).toThrow(
      expect.objectContaining({ code: 'CHECKPOINT_NEWER', details: expect.anything() }),
    )
  })

  test.each([0, -1, 1.5, Number.NaN, 1])('D8 a row of format %d is found out', (schemaVersion) => {
    const { row } = firstCheckpoint(here, { a: 1 })
    expect(readChain([{ ...row, schemaVersion }], expected)).toMatchObject({ ok: false, visit: 1 })
  })
})

const text = fc.oneof(fc.string({ unit: 'binary', maxLength: 8 }), fc.string({ maxLength: 40 }))
const key = fc.constantFrom('a', 'b', 'c', '__proto__', '10', '')
const plain = fc.anything({
  key: fc.oneof(key, text),
  values: [text, fc.boolean(), fc.constant(null), fc.integer()],
  maxDepth: 3,
})
// Patches of keys: some append to what is there, as nodes do.
const patch = fc.dictionary(key, fc.oneof(plain, fc.constantFrom('append', 'remove')))

function patchedStates(first: object, patches: readonly Record<string, unknown>[]): unknown[] {
  const states: unknown[] = [absorb(first)]
  for (const each of patches) {
    const before = states.at(-1) as Record<string, unknown>
    const changes = Object.entries(each).map(([name, value]) => {
      const old = Object.hasOwn(before, name) ? before[name] : undefined
      if (value === 'remove') return [name, undefined]
      if (value !== 'append') return [name, value]
      return [name, Array.isArray(old) ? [...old, each] : typeof old === 'string' ? `${old}!` : []]
    })
    states.push(mergePatch(before, Object.fromEntries(changes)))
  }
  return states
}

describe('writer and reader', () => {
  test.each(['hybrid', 'full', 'delta'] as const)(
    'D10 %s: any patches are read back, with the facts to go on from',
    (mode) => {
      const kinds = { base: 0, delta: 0 }
      const check = fc.property(
        fc.dictionary(key, plain),
        fc.array(patch, { maxLength: 12 }),
        (first, patches) => {
          const states = patchedStates(first, patches)
          const { rows, facts } = write(states, mode)
          for (const row of rows) kinds[row.kind]++
          for (const chain of [rows, fromLastBase(rows)]) {
            const read = readChain(chain, expected)
            expect(why(read)).toBe('nothing')
            expect(read.ok && canonical(read.state)).toBe(canonical(states.at(-1)))
            expect(read.ok && read.facts).toEqual(facts)
          }
        },
      )
      fc.assert(check, { numRuns: 500 })
      if (mode === 'full') expect(kinds.delta).toBe(0)
      if (mode === 'delta') expect(kinds.base).toBe(500)
      if (mode === 'hybrid') expect(Math.min(kinds.base - 500, kinds.delta)).toBeGreaterThan(100)
    },
  )

  test('D10 hybrid is the default', () => {
    const states = conversation(40)
    expect(write(states).rows).toEqual(write(states, 'hybrid').rows)
  })

  test('D10 an unchanged state costs four bytes', () => {
    const state = absorb({ list: [1, 2, 3], text: 'x'.repeat(300) })
    const { rows } = write([state, state, structuredClone(state)])
    expect(rows.map((row) => row.bodyJson).slice(1)).toEqual(['null', 'null'])
  })

  test('D9 the state read back is frozen and may be shared', () => {
    const read = readChain(write(conversation(5)).rows, expected)
    const state = (read.ok ? read.state : {}) as { messages: object[] }
    expect(() => state.messages.push({})).toThrow(TypeError)
    expect(absorb(state)).toBe(state)
  })

  test('D10 a row cannot be put before the last one', () => {
    const last = write(conversation(3))
    for (const visit of [3, 2]) {
      expect(() => nextCheckpoint(last, { ...here, visit }, {})).toThrow('cannot follow 3')
    }
  })

  test('D10 10,000 levels are written and read', () => {
    let value: unknown = 1
    for (let i = 0; i < 10_000; i++) value = i % 2 ? [value, i] : { a: value }
    const first = absorb({ value, log: [] })
    const states = [first, mergePatch(first, { log: [1] }), mergePatch(first, { value: [value] })]
    for (const mode of ['hybrid', 'delta'] as const) {
      const read = readChain(write(states, mode).rows, expected)
      expect(read.ok && canonical(read.state) === canonical(states[2])).toBe(true)
    }
  })
})

describe('bytes', () => {
  test('D10 a conversation is written once: one base, and bytes linear in its length', () => {
    const cost = (count: number) => {
      const states = conversation(count)
      const { rows } = write(states)
      expect(bases(rows)).toBe(1)
      return { total: bytes(rows), state: Buffer.byteLength(canonical(states.at(-1))) }
    }
    const [short, long] = [cost(200), cost(2_000)]
    expect(long.total / long.state).toBeLessThan(1.8)
    expect(long.total / short.total).toBeLessThan(11)
    // The same with the whole state each time, to show that the measure would tell.
    const full = bytes(write(conversation(200), 'full').rows)
    expect(full / short.total).toBeGreaterThan(50)
  })

  test('D10 pure appends never need a second base, however small', () => {
    let last = firstCheckpoint(here, { list: [], text: '', deep: { a: { list: [] } } })
    let state = last.state
    for (let visit = 2; visit < 1_500; visit++) {
      const before = state as { list: number[]; text: string; deep: { a: { list: number[] } } }
      const digit = visit % 10
      if (visit % 3 === 0) state = mergePatch(before, { list: [...before.list, digit] })
      if (visit % 3 === 1) state = mergePatch(before, { text: `${before.text}x` })
      const inner = [...before.deep.a.list, digit]
      if (visit % 3 === 2) state = mergePatch(before, { deep: { a: { list: inner } } })
      last = nextCheckpoint(last, { ...here, visit }, state)
      expect(last.row.kind).toBe('delta')
      expect(last.row.bodyJson.length).toBeLessThan(40)
    }
  })

  test('D10 a list that grows to 100,000 is written once', () => {
    const lists = Array.from({ length: 26 }, (_, i) =>
      absorb({ list: Array.from({ length: i * 4_000 }, (_, k) => k) }),
    )
    const last = lists[25] as (typeof lists)[number]
    const { rows } = write(lists)
    expect(last.list).toHaveLength(100_000)
    expect(bases(rows)).toBe(1)
    expect(bytes(rows) / Buffer.byteLength(canonical(last))).toBeLessThan(1.01)
    const read = readChain(rows, expected)
    expect(read.ok && canonical(read.state) === canonical(last)).toBe(true)
  })

  test.each<[string, (i: number) => unknown]>([
    ['all of it', (i) => ({ text: `${i} `.repeat(100), list: [i, i + 1, i + 2] })],
    ['a tenth of it', (i) => Object.fromEntries(tenths(i))],
    ['a counter', (i) => ({ n: i, text: 'x'.repeat(2_000) })],
    ['nothing but its size', (i) => ({ list: Array.from({ length: i % 50 }, (_, k) => k * 1e9) })],
    ['a window', (i) => ({ window: Array.from({ length: 20 }, (_, k) => message(i + k)) })],
  ])('D10 a state that changes %s costs twice its deltas at most', (_, make) => {
    const states = Array.from({ length: 1_000 }, (_, i) => absorb(make(i)))
    const [deltas, hybrid] = [write(states, 'delta').rows, write(states).rows]
    expect(bytes(hybrid)).toBeLessThanOrEqual(2 * bytes(deltas))
    // And a chain does not become much heavier than the state it gives.
    expect(bases(hybrid)).toBeGreaterThan(3)
    let chain = 0
    for (const [i, row] of hybrid.entries()) {
      chain = row.kind === 'base' ? 0 : chain + Buffer.byteLength(row.bodyJson)
      const state = Buffer.byteLength(canonical(states[i]))
      expect(chain).toBeLessThanOrEqual(4 * Math.max(state, 256))
    }
  })

  test('D10 a tiny state gets a new base now and then, not at every step', () => {
    const { rows } = write(Array.from({ length: 300 }, (_, n) => ({ n })))
    expect(bases(rows)).toBeGreaterThan(5)
    expect(bases(rows)).toBeLessThan(15)
  })

  test('D10 what is added and removed again and again does not pile up', () => {
    const first = { text: 'x'.repeat(5_000) }
    const states = Array.from({ length: 400 }, (_, i) =>
      absorb(i % 2 ? { ...first, extra: 'y'.repeat(500) } : first),
    )
    const { rows } = write(states)
    expect(bases(rows)).toBeGreaterThan(10)
    expect(bases(rows)).toBeLessThan(40)
  })
})

function tenths(i: number): [string, string][] {
  return Array.from({ length: 10 }, (_, k) => [`k${k}`, `${(i - ((i - k) % 10)) * 7} `.repeat(20)])
}

/** Every text that differs in one character, and the text without it. */
function corruptions(good: string): string[] {
  return Array.from(good, (char, i) => [
    good.slice(0, i) + (char === 'x' ? 'y' : 'x') + good.slice(i + 1),
    good.slice(0, i) + good.slice(i + 1),
  ]).flat()
}

describe('damage', () => {
  const { rows } = golden('v2.json')
  const known: Expected = golden('v2.json').expected
  const at = (i: number) => rows[i] as Checkpoint
  const refusal = (chain: readonly Checkpoint[], of: Expected = known) => {
    const read = readChain(chain, of)
    if (read.ok) throw new Error('the damage was not found')
    return read
  }

  test.each(['bodyJson', 'digest', 'node', 'version'] as const)(
    'D11 one wrong character in %s of any row is found',
    (field) => {
      for (const [i, row] of rows.entries()) {
        for (const value of corruptions(row[field])) {
          const { visit, good } = refusal(rows.with(i, { ...row, [field]: value }))
          expect(visit).toBe(row.visit)
          expect(good).toEqual(
            rows
              .slice(0, i)
              .map((before) => before.visit)
              .toReversed(),
          )
        }
      }
    },
  )

  test('D11 a wrong visit, generation, base, kind or run of any row is found', () => {
    for (const [i, row] of rows.entries()) {
      const forged: Partial<Checkpoint>[] = [
        ...[row.visit - 1, row.visit + 1, row.visit * 10, 0, 1.5].map((visit) => ({ visit })),
        ...[{ generation: 1 }, { runId: 'acme-2' }, { namespace: 'other' }],
        ...[{ baseVisit: row.baseVisit + 1 }, { kind: row.kind === 'base' ? 'delta' : 'base' }],
        ...[{ previous: 'x' }, { schemaVersion: 1 }],
      ] as Partial<Checkpoint>[]
      for (const wrong of forged) {
        refusal(rows.with(i, { ...row, ...wrong }))
        refusal(rows.with(i, { ...row, ...wrong }), { version: '1.2.0', visit: 10 })
      }
    }
  })

  test('D11 a row that is missing, doubled or out of its place is found', () => {
    for (const i of rows.keys()) {
      refusal(rows.toSpliced(i, 1))
      refusal(rows.toSpliced(i, 0, at(i)))
      for (let k = 0; k < i; k++) refusal(rows.with(i, at(k)).with(k, at(i)))
    }
    refusal(rows.slice(1))
    refusal(rows.slice(0, -1))
  })

  test('D11 nothing at all, or nothing in a body, is damage and no crash', () => {
    expect(refusal([])).toMatchObject({ visit: 10, good: [] })
    expect(readChain([], expected)).toMatchObject({ ok: false, visit: 0 })
    for (const bodyJson of ['', null, undefined] as unknown as string[]) {
      const gone = { ...at(0), bodyJson, bodyDigest: 'abc' }
      const read = refusal(rows.with(0, gone))
      expect(read.why).toBe('checkpoint of visit 1: its body is missing (blob abc)')
    }
  })

  test('D11 a body that fits its digest and makes no sense is damage and no crash', () => {
    const last = write(conversation(3))
    for (const body of [{ step: 'tail' }, { messages: [9, [1]] }, [0, [1]], 7, 'tail', [0, 0]]) {
      // A row signed as it stands: what a faulty writer would leave.
      const row = { ...last.row, visit: 4, bodyJson: canonical(body) }
      const forged = { ...row, digest: digestOf(row, last.row.digest) }
      const read = readChain([...last.rows, forged], expected)
      expect(read).toMatchObject({ ok: false, visit: 4, good: [3, 2, 1] })
      expect(why(read)).toContain('checkpoint of visit 4: a delta ')
    }
    const { row } = firstCheckpoint(here, { a: 1 })
    const misplaced: Partial<Checkpoint>[] = [
      ...[{ visit: 2 }, { visit: 3 }, { visit: 4, baseVisit: 2 }],
      ...[{ visit: 4, kind: 'base' as const, baseVisit: 1, previous: last.row.digest }],
    ]
    for (const wrong of misplaced) {
      const forged = { ...last.row, bodyJson: 'null', ...wrong }
      const digest = digestOf(forged, last.row.digest)
      expect(readChain([...last.rows, { ...forged, digest }], expected).ok).toBe(false)
    }
    const v1 = { ...row, schemaVersion: 1, bodyJson: '{"a":', digest: sha256('{"a":') }
    expect(readChain([v1], expected)).toMatchObject({ ok: false, visit: 1 })
  })

  test('F2 a checkpoint of another graph version is refused, and says so', () => {
    const { why: said } = refusal(rows, { ...known, version: '1.3.0' })
    expect(said).toContain('graph version 1.2.0, and the run of 1.3.0;')
  })

  test('D11 a chain of another run, generation, node or visit is refused', () => {
    const others: Partial<Expected>[] = [
      ...[{ runId: 'acme-2' }, { namespace: 'other' }, { generation: 1 }],
      ...[{ node: 'sum' }, { visit: 9 }, { visit: 11 }],
    ]
    for (const other of others) refusal(rows, { ...known, ...other })
    expect(refusal(rows, { ...known, visit: 11 })).toMatchObject({
      visit: 11,
      good: [10, 9, 8, 7, 4, 3, 2, 1],
    })
  })
})

describe('rebase', () => {
  test('D11 any row can be made a base in its place, and the chain goes on from it', () => {
    const states = conversation(6)
    const { rows } = write(states)
    for (const i of rows.keys()) {
      const read = readChain(rows.slice(0, i + 1), expected)
      if (!read.ok) throw new Error(read.why)
      const pinned = rebase(read, { ...here, node: rows[i]?.node ?? '' })
      expect(pinned.row).toMatchObject({ kind: 'base', visit: i + 1, baseVisit: i + 1 })
      const next = nextCheckpoint(pinned, { ...here, visit: i + 2 }, { step: -1, messages: [] })
      for (const chain of [
        [pinned.row, next.row],
        [...rows.slice(0, i), pinned.row, next.row],
      ]) {
        expect(why(readChain(chain, { ...expected, visit: i + 2 }))).toBe('nothing')
      }
      expect(readChain([pinned.row], expected)).toMatchObject({ ok: true, state: states[i] })
    }
  })

  test('D11 a base of this format is its own rebase', () => {
    const { row, state, facts } = firstCheckpoint(here, { a: 1 })
    expect(rebase({ state, facts }, here).row).toStrictEqual(row)
  })
})
