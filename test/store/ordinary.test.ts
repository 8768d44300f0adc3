// A commit of intents and receipts alone reads the run's row and does not write it.
import { expect, test } from 'vitest'
import { isOrdinary } from '../../src/store/rules/commit.ts'
import type { Changes } from '../../src/store/store.ts'
import {
  attempt,
  checkpoint,
  decision,
  event,
  evidence,
  item,
  record,
  signal,
} from '../../src/testing/store/fixtures.ts'

const call = { records: [record()], attempts: [attempt()] }

test('I4 what leaves the row of its run as it is can be put twice without harm', () => {
  expect(isOrdinary(call)).toBe(true)
  expect(isOrdinary({ ...call, events: [], items: undefined } as never)).toBe(true)
})

const others: Changes[] = [
  {},
  { records: [] },
  { attempts: [attempt()] },
  { ...call, events: [event('x')] },
  { ...call, items: [item()] },
  { ...call, decisions: [decision()] },
  { ...call, signals: [signal()] },
  { ...call, evidence: [evidence()] },
  { ...call, checkpoints: [checkpoint()] },
  { ...call, run: {} },
]
test.each(others.map((changes) => [Object.keys(changes).join(), changes] as const))(
  'I4 anything else leaves its commit id there: %s',
  (_, changes) => {
    expect(isOrdinary(changes)).toBe(false)
  },
)
