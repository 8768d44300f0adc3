import { describe, expect, test } from 'vitest'
import type { RiskCall } from '../../src/model/tool/risk.ts'
import { type RiskRules, riskPolicy } from '../../src/model/tool/risk-policy.ts'

function call(more: Partial<RiskCall> = {}): RiskCall {
  return {
    ...{ namespace: 'default', runId: 'r', graph: 'g', node: 'n', tool: 'pay', input: null },
    ...{ replayClass: 'unsafe_on_replay', blastRadius: null, tags: [], amount: null },
    ...{ confidence: null, ...more },
  }
}

const ask = { ask: { queue: 'finance', deciders: ['role:finance'], quorum: 2 } }
const rules: RiskRules = {
  rules: [
    { when: { blastRadius: 'money', amountAbove: 10_000 }, do: 'refuse' },
    { when: { blastRadius: ['money'], amountAbove: 500 }, do: ask },
    { when: { tags: ['customer-facing', 'legal'], confidenceBelow: 0.8 }, do: { ask: {} } },
    { when: { tool: 'drop_table' }, do: 'refuse', why: 'never here' },
    { when: { blastRadius: 'none' }, do: 'run' },
  ],
}

describe('E6 rules', () => {
  const policy = riskPolicy(rules)

  test('E6 the first that fits, with a reason that a person can read', () => {
    expect(policy(call({ blastRadius: 'money', amount: 812 }))).toEqual({
      ask: { ...ask.ask, why: 'held because: money above 500 (812.00)' },
    })
    expect(policy(call({ blastRadius: 'money', amount: 10_000.5 }))).toEqual({
      refuse: 'money above 10000 (10000.50)',
    })
    expect(policy(call({ tags: ['x', 'legal'], confidence: 0.55 }))).toEqual({
      ask: { why: 'held because: legal confidence below 0.8 (0.55)' },
    })
    expect(policy(call({ tool: 'drop_table' }))).toEqual({ refuse: 'never here' })
  })

  test('E6 the rest streams through, at the border too', () => {
    expect(policy(call({ blastRadius: 'money', amount: 500 }))).toBe('run')
    expect(policy(call({ tags: ['legal'], confidence: 0.8 }))).toBe('run')
    expect(policy(call({ tags: ['internal'], confidence: 0.1 }))).toBe('run')
    expect(policy(call())).toBe('run')
  })

  test('E6 what nobody can tell counts as risky, and lets nothing pass', () => {
    expect(policy(call({ blastRadius: 'money' }))).toEqual({
      refuse: 'money above 10000 (not known)',
    })
    expect(policy(call({ blastRadius: 'money', amount: Number.NaN }))).toHaveProperty('refuse')
    expect(policy(call({ tags: ['legal'] }))).toEqual({
      ask: { why: 'held because: legal confidence below 0.8 (not said)' },
    })
    const small = riskPolicy({
      rules: [{ when: { amountAbove: -1 }, do: 'run' }],
      otherwise: { ask: {} },
    })
    expect(small(call({ amount: 0 }))).toBe('run')
    expect(small(call())).toEqual({ ask: { why: 'held because: no rule lets it pass' } })
  })

  test('E6 a slip in a rule is refused when it is made, not found out by a call', () => {
    const made = (rule: unknown) => () => riskPolicy({ rules: [rule as never] })
    for (const rule of [
      null,
      {},
      { when: {}, do: 'ask' },
      { when: { amountOver: 5 }, do: 'run' },
      { when: { amountAbove: '5' }, do: 'run' },
      { when: { confidenceBelow: Number.NaN }, do: 'run' },
      { when: {}, do: { ask: { deciders: [] } } },
      { when: {}, do: { ask: { quorum: 0 } } },
    ]) {
      expect(made(rule)).toThrow(expect.objectContaining({ code: 'GATE_INVALID' }))
    }
    expect(() => riskPolicy({ rules: [], otherwise: 'maybe' as never })).toThrow(/otherwise/)
  })
})
