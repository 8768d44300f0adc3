// LangChain's own suite for checkpointers, whole and without exceptions, on every store. Its tests
// are written for a runner with global names.
import { deltaChannelHistoryTests, validate } from '@langchain/langgraph-checkpoint-validation'
import * as vitest from 'vitest'
import { CounterfoilSaver } from '../../../../src/adapters/langgraph/index.ts'
import { kinds } from './stores.ts'

const { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } = vitest
Object.assign(globalThis, { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it })

for (const kind of kinds()) {
  kind.describe(`K1 the validation suite of LangGraph, ${kind.name}`, () => {
    const initializer = {
      checkpointerName: 'CounterfoilSaver',
      createCheckpointer: async () => new CounterfoilSaver(await kind.open()),
      afterAll: () => kind.end(),
    }
    validate(initializer)
    deltaChannelHistoryTests(initializer)
  })
}
