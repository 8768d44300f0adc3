// A filter that means nothing would find nothing, and its reader would think that nobody waits.
import { expect, test } from 'vitest'
import { open } from '../../src/index.ts'

test.each([
  [{ state: 'any' }, '`state` must be one of open, decided, closed, not "any"'],
  [{ kind: 'doubts' }, '`kind` must be one of approval, doubt, question, not "doubts"'],
  [{ run: 'r1' }, 'there is no filter `run`; the filters are kind, state, runId'],
  [{ namespace: 'other' }, 'there is no filter `namespace`'],
  [{ toString: 1 }, 'there is no filter `toString`'],
  [{ runId: 7 }, '`runId` must be a string, not a number'],
  [{ overdue: 'yes' }, '`overdue` must be a boolean, not "yes"'],
])('E2 inbox.list(%j) is refused, and says why', async (filter, why) => {
  const cf = await open({ store: 'memory:', onWarning: () => {} })
  try {
    const refused = await cf.inbox.list(filter as never).catch((error) => error)
    expect(refused).toMatchObject({ code: 'REQUEST_INVALID' })
    expect(refused.message).toContain(why)
    expect((await cf.inbox.list({ state: undefined } as never)).items).toEqual([])
  } finally {
    await cf.close()
  }
})
