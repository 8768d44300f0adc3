// The report and the pictures of the comparison are made from stored results, by these scripts
// alone. What the figures are is not tested.
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { chartsOf, drawn } from '../bench/peers/charts.mjs'
import { goalsOf, payloadOf } from '../bench/peers/goals.mjs'
import { errorsOf, reportOf } from '../bench/peers/report.mjs'

const file = new URL('../bench/peers/results.json', import.meta.url)
const stored = () => JSON.parse(readFileSync(file, 'utf8'))
const blank = /NaN|undefined|Infinity|\[object/

describe('the report', () => {
  test('O8 names every system with its settings and its versions', () => {
    const results = stored()
    const report = reportOf(results)
    expect(report).not.toMatch(blank)
    for (const name of ['langgraph-sqlite', 'dbos', 'restate', 'counterfoil-sqlite']) {
      expect(Object.keys(results.systems)).toContain(name)
    }
    for (const [name, { about }] of Object.entries<{ about: string }>(results.systems)) {
      expect(report).toContain(name)
      expect(report).toContain(about)
    }
  })

  test('O8 an unsafe call has one effect and an item that names it', () => {
    const goals = goalsOf(stored()).filter(({ test }) => test === 'E')
    expect(goals.map(({ met }) => met)).toEqual([true, true])
  })

  test('O8 a second effect, or an item that names nothing, misses the goal', () => {
    const twice = stored()
    twice.systems['counterfoil-sqlite'].E.effects[0] = 2
    twice.systems['counterfoil-postgres'].E.told[0][0].tool = null
    const goals = goalsOf(twice).filter(({ test }) => test === 'E')
    expect(goals.map(({ met }) => met)).toEqual([false, false])
  })

  test('O8 a peer counts only at a setting that keeps its steps', () => {
    const results = stored()
    const sequence = () => goalsOf(results).find(({ test }) => test === 'A')?.got
    const before = sequence()
    results.systems['langgraph-sqlite'].A.msPerStep = 0.000_1
    expect(sequence()).toBe(before)
    results.systems['langgraph-sqlite-careful'].A.msPerStep = 0.000_1
    expect(sequence()).not.toBe(before)
  })

  test('O8 a system that failed or was left out is said to be', () => {
    const results = stored()
    results.systems['dbos'].A = { error: 'it fell over' }
    delete results.systems['restate']
    results.skipped['restate'] = 'it needs Node 22'
    const report = reportOf(results)
    expect(report).toMatch(/\| dbos +\| error/)
    expect(report).toContain('skipped: it needs Node 22')
  })

  test('O8 every error is found, also that of one length of C: the command ends with 1', () => {
    const results = stored()
    expect(errorsOf(results)).toEqual([])
    results.systems['dbos'].A = { error: 'it fell over' }
    results.systems['langgraph-sqlite'].C['1600'] = { error: 'no space' }
    expect(errorsOf(results).sort()).toEqual([
      ...['dbos A: it fell over', 'langgraph-sqlite C: no space'],
    ])
  })
})

describe('the pictures', () => {
  const charts = () => chartsOf(stored())

  test('O8 each has a name, a description with every figure, and both kinds of page', () => {
    expect(charts().map(({ name }) => name)).toContain('bench-steps')
    for (const chart of charts()) {
      const svg = drawn(chart)
      expect(svg).not.toMatch(blank)
      expect(svg).toContain(`role="img" aria-labelledby="${chart.name}-title ${chart.name}-desc"`)
      expect(svg).toContain('prefers-color-scheme: dark')
      for (const { label, shown } of chart.bars) expect(svg).toContain(`${label}: ${shown}`)
    }
  })

  test('O8 no bar leaves its card', () => {
    for (const chart of charts()) {
      const widths = [...drawn(chart).matchAll(/class="(?:ours|peer)".*? width="([\d.]+)"/g)]
      expect(widths).toHaveLength(chart.bars.length)
      for (const [, width] of widths) expect(Number(width)).toBeLessThanOrEqual(412)
    }
  })

  test('O8 a name cannot break out of the picture', () => {
    const bars = [{ label: '<script>&"', value: 1, shown: '1', ours: false }]
    const svg = drawn({ name: 'a', title: 't', desc: 'd', log: false, bars })
    expect(svg).toContain('&lt;script>&amp;&quot;')
  })
})

test('O8 the payload of C grows by 2 KB a message', () => {
  expect(payloadOf(200) - payloadOf(100)).toBeGreaterThan(200_000)
  expect(payloadOf(200) - payloadOf(100)).toBeLessThan(210_000)
})
