// Damage that long runs of the proof (`--only inputs`) have found a way through, each once more.
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { Site, script } from './driver.ts'

const ledger = fileURLToPath(new URL('../replay/ledgers/0.1.0-002_server', import.meta.url))

const found: [cause: string, seed: number, where: string][] = [
  [
    'an outcome without an end was believed: a mail was sent twice',
    62_547_340,
    'tool_call_attempts.outcome',
  ],
  ['an output that is no JSON was an error without a code', 4_540_087, 'runs.output_json'],
  ['a table without one of its columns was one', 12_202_702, '2 at 60825'],
  ['an item without a member of its body was one', 1_533_060, 'inbox_items.body_json'],
]

test.each(found)('J3, B8 %s', async (_, seed, where) => {
  const site = await Site.open()
  const args = [ledger, String(seed), '1', site.port]
  const { code, out, error } = await site.spawn(script('corrupt.mjs'), args).exit
  expect([code, error]).toEqual([0, ''])
  // Else another cell is damaged now, and this test proves nothing.
  expect(JSON.parse(out)).toMatchObject({ seed, where, faults: [] })
  await site.close()
})
