// Registration: every wrong use of a class or a key is refused at once, by the tool's name, with
// words that say what to do. The types refuse most of it too; here the caller is JavaScript.
import { type } from 'arktype'
import * as v from 'valibot'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { CounterfoilError, recordedKey, tool } from '../../src/index.ts'
import { validate } from '../../src/model/tool/schema.ts'
import { isRecordedKey, isTool, makeTool, type ToolRules } from '../../src/model/tool/tool.ts'

const schema = z.object({ to: z.string() })
const anyTool = tool as unknown as (spec: unknown) => { name: string; rules: ToolRules }

const pure = { name: 'look', replayClass: 'pure', input: schema, run: () => 1 }
const unsafe = { ...pure, name: 'send_email', replayClass: 'unsafe_on_replay' }
const keyed = {
  ...pure,
  name: 'charge_card',
  replayClass: 'idempotent_with_key',
  idempotencyKey: () => 'k',
  keyTtlMs: 60_000,
}

function refusal(spec: unknown): CounterfoilError {
  try {
    anyTool(spec)
  } catch (error) {
    if (error instanceof CounterfoilError) return error
    throw error
  }
  throw new Error('it was registered')
}

function without(spec: object, ...keys: string[]): object {
  return Object.fromEntries(Object.entries(spec).filter(([key]) => !keys.includes(key)))
}

/** The refusal is ours, names the tool, and says what is wanted. */
function expectRefusal(spec: { name: string }, says: RegExp): void {
  const error = refusal(spec)
  expect(error.code).toBe('TOOL_INVALID')
  expect(error.message).toContain(`tool "${spec.name}"`)
  expect(error.message).toMatch(says)
  expect(error.details).toEqual({ tool: spec.name })
  expect(error.retryable).toBe(false)
}

describe('A1 every tool declares its class', () => {
  test('A1 the three classes are accepted as they are spelled', () => {
    for (const spec of [pure, unsafe, keyed]) {
      expect(anyTool(spec)).toMatchObject({ name: spec.name, replayClass: spec.replayClass })
    }
  })

  test('A1 no class is refused: there is no default', () => {
    const spec = without(pure, 'replayClass') as { name: string }
    expectRefusal(spec, /no replayClass.*"pure".*"idempotent_with_key".*"unsafe_on_replay"/)
  })

  test.each(['Pure', 'unsafe', 'keyed', 'idempotent', '', 'toString', null, 7, true, ['pure'], {}])(
    'A1 the class %j is refused and shown',
    (replayClass) => {
      expectRefusal({ ...pure, replayClass } as never, /has replayClass .*Say what may happen/)
      expect(refusal({ ...pure, replayClass }).message).toContain(JSON.stringify(replayClass))
    },
  )

  test('A1 nothing is inferred from a name', () => {
    for (const name of ['get_user', 'read_file', 'list', 'GET:orders', 'delete_all']) {
      expectRefusal({ ...without(pure, 'replayClass'), name }, /no replayClass/)
    }
  })

  test('A1 steps pass the same gate as tools', () => {
    expect(() => makeTool('note', { replayClass: undefined, run: () => 1 })).toThrow(
      /tool "note" has no replayClass/,
    )
    expect(() => makeTool('note', { replayClass: 'idempotent_with_key', run: () => 1 })).toThrow(
      /tool "note" is idempotent_with_key and needs idempotencyKey/,
    )
  })
})

describe('A2 a key belongs to keyed tools, and its window with it', () => {
  test('A2 keyed without a key is refused, and told of recordedKey()', () => {
    expectRefusal(
      without(keyed, 'idempotencyKey') as never,
      /needs idempotencyKey.*recordedKey\(\)/,
    )
  })

  test.each(['order-7', 7, null, {}, true])('A2 the key %j, no function, is refused', (key) => {
    expectRefusal({ ...keyed, idempotencyKey: key } as never, /needs idempotencyKey\(input, call\)/)
  })

  test.each([undefined, null, 0, -1, Number.NaN, '1000', Number.NEGATIVE_INFINITY, {}])(
    'A2 the window %s is refused',
    (keyTtlMs) => {
      const wanted = /needs keyTtlMs: how long the upstream remembers a key.*Infinity/
      expectRefusal({ ...keyed, keyTtlMs } as never, wanted)
    },
  )

  test.each([1, 0.5, 86_400_000, 2 ** 40, Number.POSITIVE_INFINITY])(
    'A2 the window %s is accepted',
    (keyTtlMs) => {
      const made = anyTool({ ...keyed, keyTtlMs, timeoutMs: 0.1 })
      expect(made.rules.keyTtlMs).toBe(keyTtlMs)
    },
  )

  test('A2 G6 a window that ends before the call could is never open, and refused', () => {
    expectRefusal({ ...keyed, keyTtlMs: 30_000 } as never, /keyTtlMs 30000, and may take 30000 ms/)
    expectRefusal({ ...keyed, timeoutMs: 60_000 } as never, /Say a timeoutMs below keyTtlMs/)
    const heard = { ...keyed, heartbeatMs: 5_000 }
    expect(anyTool(heard).rules).toMatchObject({ timeoutMs: 86_400_000, keyMarginMs: 5_000 })
    expectRefusal({ ...heard, heartbeatMs: 60_000 } as never, /and may take 60000 ms/)
  })

  test.each([pure, unsafe])('A2 $replayClass refuses a key and a window', (spec) => {
    const says = new RegExp(`is ${spec.replayClass}: idempotencyKey and keyTtlMs belong to keyed`)
    expectRefusal({ ...spec, idempotencyKey: () => 'k' } as never, says)
    expectRefusal({ ...spec, idempotencyKey: null } as never, says)
    expectRefusal({ ...spec, idempotencyKey: recordedKey() } as never, says)
    expectRefusal({ ...spec, keyTtlMs: 1 } as never, says)
    expectRefusal({ ...spec, keyTtlMs: Number.POSITIVE_INFINITY } as never, says)
  })

  test('A2 A3 recordedKey() is known by its mark, and never called by hand', () => {
    const key = recordedKey()
    expect(isRecordedKey(key)).toBe(true)
    expect(anyTool({ ...keyed, idempotencyKey: key }).rules.idempotencyKey).toBe(key)
    expect(key).toThrow(/recordedKey\(\) is filled in by Counterfoil itself/)
    for (const other of [() => 'k', recordedKey, undefined, null, 'k', {}]) {
      expect(isRecordedKey(other)).toBe(false)
    }
  })
})

describe('A1 what has no meaning for a class is refused, not ignored', () => {
  test.each([
    ['probe', () => ({ landed: 'no' })],
    ['quietMs', 1],
    ['outlives', true],
    ['outlives', false],
  ] as const)('A1 a pure tool with %s', (key, value) => {
    expectRefusal({ ...pure, [key]: value } as never, new RegExp(`is pure: \`${key}\` has no mean`))
    expect(anyTool({ ...unsafe, [key]: value })).toBeDefined()
    expect(anyTool({ ...keyed, [key]: value })).toBeDefined()
  })

  test.each(['probe', 'externalId'])('A1 %s that is no function', (key) => {
    for (const value of [null, 'yes', {}, 1]) {
      expectRefusal(
        { ...unsafe, [key]: value } as never,
        new RegExp(`\`${key}\` must be a function`),
      )
    }
  })

  test.each([undefined, null, 'send', {}, 1])('A1 a tool whose run is %j', (run) => {
    expectRefusal({ ...unsafe, run } as never, /needs run\(input, call\)/)
  })
})

describe('A5 any Standard Schema library validates', () => {
  const schemas = {
    zod: z.object({ to: z.string() }),
    valibot: v.object({ to: v.string() }),
    arktype: type({ to: 'string' }),
  }

  test.each(Object.entries(schemas))('A5 %s for input and output', async (_, each) => {
    const made = anyTool({ ...unsafe, input: each, output: each })
    expect(made.rules.input).toBe(each)
    expect(made.rules.output).toBe(each)
    const what = { code: 'INPUT_INVALID', subject: 'input of send_email' } as const
    expect(await validate(each as never, { to: 'ana' }, what)).toEqual({ to: 'ana' })
    const refused = (value: unknown) => async () => validate(each as never, value, what)
    await expect(refused({ to: 7 })).rejects.toThrow(/^input of send_email is not valid: \$\.to: /)
    await expect(refused({})).rejects.toMatchObject({ code: 'INPUT_INVALID' })
  })

  test('A5 a schema that answers later is waited for', async () => {
    const later = z.string().refine(async (text) => text !== 'no', 'not this one')
    const what = { code: 'OUTPUT_INVALID', subject: 'result of look' } as const
    expect(await validate(later as never, 'yes', what)).toBe('yes')
    await expect(async () => validate(later as never, 'no', what)).rejects.toMatchObject({
      code: 'OUTPUT_INVALID',
      message: 'result of look is not valid: $: not this one',
    })
  })

  test('A5 the refusal names every issue by its path', () => {
    const nested = z.object({ list: z.array(z.object({ id: z.number() })), name: z.string() })
    const what = { code: 'INPUT_INVALID', subject: 'input of look' } as const
    const wrong = { list: [{ id: 1 }, { id: 'x' }] }
    expect(() => validate(nested as never, wrong, what)).toThrow(
      /\$\.list\[1\]\.id: .*; \$\.name: /,
    )
  })

  test.each([undefined, null, {}, { parse: () => 1 }, 'string', String, { '~standard': {} }])(
    'A5 an input schema that is none (%s) is refused',
    (input) => {
      expectRefusal({ ...pure, input } as never, /`input` must be a Standard Schema \(zod, valibot/)
    },
  )

  test.each([null, {}, 'string', { '~standard': { validate: true } }])(
    'A5 an output schema that is none (%s) is refused',
    (output) => {
      expectRefusal({ ...pure, output } as never, /`output` must be a Standard Schema/)
    },
  )
})

describe('A1 names of tools', () => {
  test.each(['a', 'send_email', 'mail.send', 'mail:send', 'mail-send', '7', '_', 'x'.repeat(128)])(
    'A1 %s is usable',
    (name) => {
      expect(anyTool({ ...pure, name }).name).toBe(name)
    },
  )

  test.each([
    ...['', ' ', 'send email', 'a/b', 'a\n', 'a\nb', 'é', '日本', '.a', '-a', ':a', 'a#1', 'a@1'],
    ...['x'.repeat(129), undefined, null, 7, {}, ['a'], true],
  ])('A1 %j is not usable, and the refusal says what is', (name) => {
    const error = refusal({ ...pure, name })
    expect(error.code).toBe('TOOL_INVALID')
    expect(error.message).toContain(`tool name ${JSON.stringify(name)} is not usable`)
    expect(error.message).toMatch(/letters, digits, _ \. : - and at most 128/)
  })

  test('A1 names that begin with "counterfoil." are reserved', () => {
    expectRefusal({ ...pure, name: 'counterfoil.now' }, /begin with "counterfoil\." are its own/)
    expect(anyTool({ ...pure, name: 'counterfoil' }).name).toBe('counterfoil')
    expect(anyTool({ ...pure, name: 'counterfoil_now' }).name).toBe('counterfoil_now')
  })

  test.each([undefined, null, 'send', 7])(
    'A1 tool(%j) is refused by us, not by JavaScript',
    (spec) => {
      expect(refusal(spec).code).toBe('TOOL_INVALID')
    },
  )
})

describe('A1 defaults and limits', () => {
  const most = 2 ** 31 - 1

  test('A1 what is not said has a default; the quiet time is at least a minute', () => {
    const { rules } = anyTool(unsafe)
    expect(rules).toMatchObject({
      timeoutMs: 30_000,
      quietMs: 60_000,
      outlives: false,
      oncePerVisit: false,
      output: null,
      keyTtlMs: null,
      idempotencyKey: null,
      probe: null,
      externalId: null,
      retry: { attemptMax: 3, backoffMs: 200, backoffMaxMs: 10_000 },
    })
    expect(anyTool({ ...unsafe, timeoutMs: 90_000 }).rules.quietMs).toBe(90_000)
    expect(anyTool({ ...unsafe, timeoutMs: 1 }).rules.quietMs).toBe(60_000)
    expect(anyTool({ ...unsafe, timeoutMs: 90_000, quietMs: 5 }).rules.quietMs).toBe(5)
  })

  test('A1 what is said is kept', () => {
    const probe = () => ({ landed: 'unknown' })
    const externalId = () => 'm1'
    const said = { timeoutMs: 5, quietMs: 7, outlives: true, oncePerVisit: true, probe, externalId }
    const retry = { attemptMax: 1, backoffMs: 0, backoffMaxMs: most }
    expect(anyTool({ ...unsafe, ...said, retry }).rules).toMatchObject({ ...said, retry })
  })

  test.each([-1, Number.NaN, most + 1, Number.POSITIVE_INFINITY, '1', null, {}])(
    'A1 %s is no number of milliseconds',
    (value) => {
      for (const key of ['timeoutMs', 'quietMs']) {
        expectRefusal(
          { ...unsafe, [key]: value } as never,
          new RegExp(`\`${key}\` must be milliseconds between 0 and ${most}`),
        )
      }
      for (const key of ['backoffMs', 'backoffMaxMs']) {
        expectRefusal(
          { ...unsafe, retry: { [key]: value } } as never,
          new RegExp(`\`retry\\.${key}\` must be milliseconds between 0 and ${most}`),
        )
      }
    },
  )

  test('A1 the longest timer that Node honours is accepted', () => {
    expect(anyTool({ ...unsafe, timeoutMs: most, quietMs: most }).rules.timeoutMs).toBe(most)
  })

  test.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '3'])(
    'A1 %s attempts are refused',
    (attemptMax) => {
      const says = /`retry\.attemptMax` must be a whole number of at least 1/
      expectRefusal({ ...unsafe, retry: { attemptMax } } as never, says)
    },
  )

  test('A1 a registered tool cannot be changed afterwards', () => {
    const made = anyTool(unsafe)
    expect(isTool(made)).toBe(true)
    expect(() => Object.assign(made, { replayClass: 'pure' })).toThrow(TypeError)
    expect(() => Object.assign(made.rules, { outlives: true })).toThrow(TypeError)
  })

  test('A1 only what tool() made is a tool', () => {
    for (const fake of [null, undefined, {}, { ...anyTool(pure) }, 'look', () => 1]) {
      expect(isTool(fake)).toBe(false)
    }
  })
})

describe('A6 what is known of a tool besides its class', () => {
  const amount = () => 12
  const usage = () => ({ tokensIn: 1, tokensOut: 2, usd: 0.1 })

  test('A6 what is not said is not known', () => {
    expect(anyTool(pure).rules).toMatchObject({
      tags: [],
      blastRadius: null,
      rateLimit: null,
      amount: null,
      usage: null,
      beat: null,
    })
  })

  test.each([pure, unsafe, keyed])('A6 $replayClass keeps all that is said', (spec) => {
    const rateLimit = { class: 'mail', count: 10, perMs: 1_000 }
    const said = { tags: ['pii', 'a:b'], blastRadius: 'money', rateLimit, amount, usage }
    const { rules } = anyTool({ ...spec, ...said, beat: 'act' })
    expect(rules).toMatchObject({ ...said, beat: 'act' })
    expect(() => (rules.tags as string[]).push('more')).toThrow(TypeError)
    expect(() => Object.assign(rules.rateLimit ?? {}, { count: 11 })).toThrow(TypeError)
  })

  test("A6 what is said cannot be changed through the caller's own objects", () => {
    const tags = ['pii', 'pii']
    const rateLimit = { class: 'mail', count: 10, perMs: 1_000 }
    const { rules } = anyTool({ ...pure, tags, rateLimit })
    tags.push('late')
    rateLimit.count = 99
    expect(rules.tags).toEqual(['pii'])
    expect(rules.rateLimit?.count).toBe(10)
  })

  test.each(['pii', { 0: 'pii' }, null, 7])('A6 tags that are no list: %j', (tags) => {
    expectRefusal({ ...pure, tags } as never, /`tags` must be an array of words/)
  })

  test.each(['', 'two words', 7, null, undefined, 'x'.repeat(129)])('A6 the tag %j', (tag) => {
    expectRefusal({ ...pure, tags: ['pii', tag] } as never, /has the tag .*: a tag is letters/)
  })

  test.each(['huge', 'Money', '', null, 7, true])('A6 the blast radius %j', (blastRadius) => {
    const says = /has blastRadius .*: it must be one of "none", "local", "external", "money"/
    expectRefusal({ ...pure, blastRadius } as never, says)
    expect(refusal({ ...pure, blastRadius }).message).toContain(JSON.stringify(blastRadius))
  })

  test.each(['rest', 'Plan', '', null, 1])('A6 the beat %j', (beat) => {
    expectRefusal({ ...pure, beat } as never, /has beat .*: it must be one of "plan", "context", /)
  })

  test.each([
    [null, /`rateLimit` must be \{ class, count, perMs \}/],
    ['mail', /`rateLimit` must be/],
    [{ count: 1, perMs: 1 }, /`rateLimit` must be .*, its class a name/],
    [{ class: 'a b', count: 1, perMs: 1 }, /its class a name/],
    [{ class: 'mail', perMs: 1 }, /`rateLimit\.count` must be a whole number of at least 1/],
    [{ class: 'mail', count: 0, perMs: 1 }, /`rateLimit\.count` must be/],
    [{ class: 'mail', count: 1.5, perMs: 1 }, /`rateLimit\.count` must be/],
    [{ class: 'mail', count: Number.POSITIVE_INFINITY, perMs: 1 }, /`rateLimit\.count` must be/],
    [{ class: 'mail', count: 1 }, /`rateLimit\.perMs` must say/],
    [{ class: 'mail', count: 1, perMs: 0 }, /`rateLimit\.perMs` must say/],
    [{ class: 'mail', count: 1, perMs: '1s' }, /`rateLimit\.perMs` must be milliseconds/],
  ])('A6 the rate limit %j', (rateLimit, says) => {
    expectRefusal({ ...pure, rateLimit } as never, says)
  })

  test.each(['amount', 'usage'])('A6 %s that is no function', (key) => {
    for (const value of [null, 12, { usd: 1 }]) {
      const says = new RegExp(`\`${key}\` must be a function`)
      expectRefusal({ ...pure, [key]: value } as never, says)
    }
  })

  test('A6 steps have it too', () => {
    const step = makeTool('note', { replayClass: 'pure', run: () => 1, tags: ['x'], beat: 'learn' })
    expect(step.rules).toMatchObject({ tags: ['x'], beat: 'learn', blastRadius: null })
    expect(() => makeTool('note', { replayClass: 'pure', run: () => 1, beat: 'nap' })).toThrow(
      /tool "note" has beat "nap"/,
    )
  })
})
