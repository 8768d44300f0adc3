// The one loop that writes again what may not have been written.
import { expect, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { CounterfoilError } from '../../src/model/errors.ts'
import { type Insistence, writeUntilAcknowledged } from '../../src/store/insist.ts'

const waits: number[] = []
const clock = {
  ...systemClock,
  after: (ms: number, fn: () => void) => {
    waits.push(ms)
    queueMicrotask(fn)
    return () => {}
  },
}

async function insist(answers: readonly unknown[], options: Partial<Insistence> = {}) {
  waits.length = 0
  let writes = 0
  const write = async () => {
    const answer = answers[writes++]
    if (answer instanceof Error) throw answer
    return answer as string
  }
  const end = writeUntilAcknowledged(write, { clock, waitMs: 5, waitMaxMs: 15, ...options })
  const [said] = await Promise.allSettled([end])
  return { said, writes, waits: [...waits] }
}

const passing = new CounterfoilError('STORE_BUSY', 'later', { retryable: true })
const final = new CounterfoilError('WRITE_REFUSED', 'never')
const strange = new Error('who knows')

test('I4 the same is written until it is acknowledged, with longer and longer pauses', async () => {
  const seen = await insist([passing, strange, 'locked', passing, 'done'])
  expect(seen).toMatchObject({ said: { value: 'done' }, writes: 5, waits: [5, 10, 15, 15] })
})

test('I4 an error that no repetition can help ends it', async () => {
  const seen = await insist([passing, final, 'done'])
  expect(seen).toMatchObject({ said: { reason: final }, writes: 2 })
})

test('I4 whoever writes may give up, and is told of every error', async () => {
  const errors: unknown[] = []
  const goesOn = (error: unknown) => errors.push(error) < 2
  const seen = await insist([strange, passing, 'done'], { goesOn })
  expect(seen).toMatchObject({ said: { reason: passing }, writes: 2 })
  expect(errors).toEqual([strange, passing])
})
