import { afterAll, test } from 'vitest'
import { describePostgres } from '../postgres/bench.ts'
import { fc } from '../seed.ts'
import { sequencesWanted } from '../size.ts'
import { drive } from './drive.ts'
import { operation } from './operations.ts'
import { Theatre } from './stage.ts'

describePostgres('one contract, three stores', () => {
  const theatre = new Theatre()
  afterAll(() => theatre.end())

  const name = 'random sequences are answered and kept alike by memory, SQLite and Postgres'
  // However many are asked for: `npm run differential`.
  test(`L5, D2, D6 ${name}`, { timeout: 0 }, async () => {
    const sequence = fc.array(operation, { minLength: 1, maxLength: 40, size: 'max' })
    const property = fc.asyncProperty(sequence, (ops) =>
      theatre.stage((stage) => drive(stage, ops)),
    )
    await fc.assert(property, { numRuns: sequencesWanted })
  })
})
