// A store that fails under a graph: LangGraph takes no notice of a put that rejects until its loop
// is over, and Node ends a process in which nobody has. So no put of an invocation rejects.
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { file } from '../lab.ts'

const program = fileURLToPath(new URL('./failing.mjs', import.meta.url))
const run = promisify(execFile)

interface End {
  first: string
  before: string[]
  next: string[]
  later: string
  sent: string[]
  said: string
}

async function failing(...how: (string | number)[]): Promise<End> {
  const { stdout } = await run(process.execPath, [program, file(), ...how.map(String)])
  return JSON.parse(stdout) as End
}

const forEver = 1_000

test('K1 a put that fails for a moment is tried again, and nobody hears of it', async () => {
  const end = await failing('putStep', 2, 2)
  expect(end).toMatchObject({ first: 'done', sent: ['a', 'b'], next: [], said: 'c' })
})

test('C2, K1 a checkpoint that was not written is not sent from, and no process dies', async () => {
  // Those of the input, of START, and of a are written; that of b is not.
  const end = await failing('putStep', 2, forEver)
  expect(end.first).toContain('the disk is gone')
  expect(end.before).toEqual([])
  expect(end).toMatchObject({ later: 'done', sent: ['a', 'b'], said: 'c' })
  // The third row is the turn of a, which is on record before anything is sent.
  const next = await failing('putStep', 4, forEver)
  expect(next.first).toContain('the disk is gone')
  expect(next).toMatchObject({ before: ['a'], later: 'done', sent: ['a', 'b'], said: 'c' })
}, 30_000)

test('K1 the first checkpoint of a thread that was not written is not taken for it', async () => {
  const end = await failing('putStep', 1, forEver)
  expect(end.first).toContain('the disk is gone')
  expect(end).toMatchObject({ before: [], next: [], later: 'done', sent: ['a', 'b'], said: 'c' })
}, 30_000)

test('K1 a graph that sends nothing is told of it as well', async () => {
  const end = await failing('putStep', 2, forEver, 'none')
  expect(end.first).toContain('the disk is gone')
  expect(end).toMatchObject({ later: 'done', said: 'c' })
}, 30_000)

test('K1 writes of tasks that fail end the invocation, and no process', async () => {
  const end = await failing('putWrites', 1, forEver)
  expect(end.first).toContain('the disk is gone')
  expect(end).toMatchObject({ later: 'done', sent: ['a', 'b'], said: 'c' })
}, 30_000)
