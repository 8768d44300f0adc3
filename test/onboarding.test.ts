import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { effectsIn, twice } from '../examples/onboarding/office.mjs'

const example = fileURLToPath(new URL('../examples/onboarding.mjs', import.meta.url))

test('N2 vendors are taken on under kills: one order each, and people are asked', async () => {
  const file = join(mkdtempSync(join(tmpdir(), 'counterfoil-n2-')), 'figures.json')
  await promisify(execFile)(process.execPath, [example, '--figures', file])
  const figures = JSON.parse(readFileSync(file, 'utf8'))
  expect(figures).toMatchObject({ vendors: 3, orders: 3, twice: [] })
  // Each kill fell between the effect and its answer: some of them nobody but a person can know.
  expect(figures.kills).toBeGreaterThanOrEqual(4)
  expect(figures.doubts).toBeGreaterThanOrEqual(1)
  const orders = figures.outputs.map((output: { order: string }) => output.order)
  expect(new Set(orders).size).toBe(3)
}, 300_000)

test('the count of the example can find an order that was filed twice', () => {
  const order = { service: 'order', run: 'r1', reference: '', key: '', result: { number: 'PO-1' } }
  expect(twice([order, { ...order, result: { number: 'PO-2' } }])).toEqual(['order of r1'])
  expect(twice([order, { ...order, run: 'r2' }])).toEqual([])
  expect(effectsIn(join(tmpdir(), 'no-such-file'))).toEqual([])
})
