// Results that nest as deep as they may, and deeper: every page, route and command can show them.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { tool } from '../../src/index.ts'
import { depthMax } from '../../src/model/limits.ts'
import { run } from '../cli/harness.ts'
import { startServer } from './harness.ts'

function nested(levels: number): unknown {
  let value: unknown = 'core'
  for (let i = 0; i < levels; i++) value = i % 2 === 0 ? [value] : { a: value }
  return value
}

const answers = (name: string, replayClass: 'pure' | 'unsafe_on_replay') =>
  tool({ name, replayClass, input: z.number(), run: (levels: number) => nested(levels) } as never)

const [look, send] = [answers('look', 'pure'), answers('send', 'unsafe_on_replay')]

test('M1 D9 B2 a result nested 20,000 deep is refused, and no route fails', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'cf-deep-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  const store = `sqlite:${join(dir, 'runs.db')}`
  const bench = await startServer({ store })
  const ids = { workflowId: 'deep', nodeId: 'n', checkpointId: 'c' }
  const scope = await bench.cf.scope(ids)
  await scope.call(look as never, depthMax as never)
  await scope.call(send as never, depthMax as never)
  await expect(scope.call(look as never, 20_000 as never)).rejects.toMatchObject({
    message: expect.stringContaining(`more than ${depthMax} levels deep`),
  })
  await expect(scope.call(send as never, 20_000 as never)).rejects.toMatchObject({
    code: 'REPLAY_UNSAFE',
    message: expect.stringContaining(`more than ${depthMax} levels deep`),
  })
  await scope.close()
  const client = await bench.as('operator')
  const ledger = await client.get('/v1/runs/deep/ledger')
  expect(ledger.status).toBe(200)
  expect(ledger.json.items.length).toBe(4)
  const items = await client.get('/v1/inbox')
  expect(items.status).toBe(200)
  const [{ item_id: itemId, title }] = items.json.items
  expect(title).toBe('send: it answered, but its result cannot be recorded')
  for (const path of [`/v1/inbox/${itemId}`, '/v1/runs/deep', '/v1/runs/deep/events']) {
    expect((await client.get(path)).status, path).toBe(200)
  }
  for (const words of [
    ['run', 'show', 'deep'],
    ['ledger', 'show', 'deep'],
    ['inbox', 'show', itemId],
    ['run', 'preview', 'deep'],
  ]) {
    for (const json of [[], ['--json']]) {
      const { code, stderr } = await run([...words, '--store', store, ...json])
      expect({ words, code, stderr }).toEqual({ words, code: 0, stderr: '' })
    }
  }
  const shown = await run(['inbox', 'show', itemId, '--store', store])
  const text = shown.stdout.replaceAll(/\s+/g, ' ')
  expect(text).toContain('cause send answered, so it happened; but its result cannot be recorded')
  expect(text).toContain('Say that it happened, with the result as plain data')
})
