import { expect, test } from 'vitest'
import { servedDesk } from './desk.ts'
import { json, openItem, run } from './harness.ts'

test('E5 webhook add shows the secret once; list, deliveries and remove', async () => {
  const { store: url } = await servedDesk(['ana'])
  const at = ['--store', url]
  const added = await json(['webhook', 'add', 'https://example.com/h', '--format', 'slack', ...at])
  expect(added).toMatchObject({ format: 'slack', url: 'https://example.com/h' })
  expect(added.secret).toMatch(/^whsec_/)
  const listed = await run(['webhook', 'list', ...at])
  expect(listed.stdout).toContain(added.webhook_id)
  expect(listed.stdout).not.toContain('whsec_')
  expect((await json(['webhook', 'deliveries', ...at])).deliveries).toEqual([])
  const inner = await run(['webhook', 'add', 'https://127.0.0.1/h', ...at])
  expect([inner.code, inner.stderr]).toEqual([1, expect.stringContaining('WEBHOOK_ADDRESS')])
  expect((await run(['webhook', 'retry', 'msg_0', ...at])).stderr).toContain('DELIVERY_NOT_FOUND')
  expect((await run(['webhook', 'remove', added.webhook_id, ...at])).code).toBe(0)
  expect((await run(['webhook', 'list', ...at])).stdout).toContain('Nobody is told')
  const source = await json(['webhook', 'add-source', 'bot', '--act', 'signal', ...at])
  expect(source).toMatchObject({ name: 'bot', acts: ['signal'] })
  const rotated = await json(['webhook', 'rotate-source', source.source_id, ...at])
  expect(rotated.secret).not.toBe(source.secret)
  expect((await run(['webhook', 'remove-source', source.source_id, ...at])).code).toBe(0)
})

test('E1 inbox comment and inbox decide: said about an item, and about several', async () => {
  const { store } = await servedDesk(['ana'])
  const at = ['--store', store]
  const item = await openItem(store, 'ana')
  const said = await json(['inbox', 'comment', item, 'looks fine', '--by', 'bo', ...at])
  expect(said).toMatchObject({ by: 'bo', text: 'looks fine' })
  const { stdout } = await run(['inbox', 'show', item, ...at])
  expect(stdout).toMatch(/comment +bo, .*: looks fine/)
  const why = ['--reason', 'small', '--by', 'ana']
  const bare = await run(['inbox', 'decide', 'approve', item, ...why, ...at])
  expect([bare.code, bare.stderr]).toEqual([2, expect.stringContaining(`${item}@1`)])
  const stale = await run(['inbox', 'decide', 'approve', `${item}@7`, ...why, ...at])
  expect([stale.code, stale.stdout]).toEqual([1, expect.stringContaining('ITEM_CHANGED')])
  const { items } = await json(['inbox', 'decide', 'approve', `${item}@1`, ...why, ...at])
  expect(items).toMatchObject([{ item_id: item, decision: { outcome: 'approve', by: 'ana' } }])
})
