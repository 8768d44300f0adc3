// A code is known to the compiler, inside; outside, stores and hosts have codes of their own.
import { expect, test } from 'vitest'
import { CounterfoilError, isCounterfoilError } from '../../src/index.ts'
import * as inside from '../../src/model/errors.ts'

test('the compiler refuses a code that is not in the table, and facts that are not its own', () => {
  const error = inside.errorFor('RUN_NOT_FOUND', 'r-1', 'shop')
  expect(error).toMatchObject({
    code: 'RUN_NOT_FOUND',
    message: 'there is no run r-1',
    retryable: false,
    details: { runId: 'r-1', namespace: 'shop' },
  })
  // @ts-expect-error a slip
  expect(inside.isCounterfoilError(error, 'RUN_NOT_FUOND')).toBe(false)
  // @ts-expect-error no such code
  expect(new inside.CounterfoilError('RUN_LOST', 'it is lost').code).toBe('RUN_LOST')
  // @ts-expect-error it needs the id
  inside.errorFor('RUN_NOT_FOUND')
})

test('users make errors with codes of their own, and subclasses', () => {
  class OutOfEggs extends CounterfoilError {
    constructor() {
      super('NO_EGGS', 'no eggs left', { retryable: true })
    }
  }
  const error: CounterfoilError = new OutOfEggs()
  expect(isCounterfoilError(error, 'NO_EGGS')).toBe(true)
  expect(inside.isCounterfoilError(error) && error.retryable).toBe(true)
  expect(error).toBeInstanceOf(inside.CounterfoilError)
  expect(error.name).toBe('OutOfEggs')
})
