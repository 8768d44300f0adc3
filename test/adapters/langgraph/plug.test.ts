// "Pull the plug" of the demo, when somebody states a result that the agent cannot read.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { show } from '../../../examples/pull-the-plug/show.mjs'
import { open } from '../../../src/index.ts'

test('E2 pull the plug: the answer "PO-1" is asked for again, and it ends', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'counterfoil-plug-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const store = `sqlite:${join(folder, 'runs.db')}`
  const answers: unknown[] = ['PO-1', { order: 'PO-1' }]
  const onDoubt = async ({ itemId }: { itemId: string }) => {
    const cf = await open({ store })
    const { version } = await cf.inbox.get(itemId)
    const said = { by: 'ana', reason: 'in the book', version }
    await cf.inbox.decide(itemId, { outcome: 'happened', result: answers.shift(), ...said })
    await cf.close()
  }
  const { said, doubts, orders } = await show(
    'guarded',
    { folder, args: [store, 'p1'] },
    { onDoubt },
  )
  expect(said).toBe('Ordered: PO-1.')
  expect([doubts.length, orders.length]).toEqual([2, 1])
}, 120_000)
