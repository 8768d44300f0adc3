// What is kept of a thread's branches beside its steps: that there are any, so that a call of a
// thread that has none need not look for them; and since when each was in the store.
import type { Counterfoil } from '../../../index.ts'

/** No graph has a space of this name. */
const space = 'counterfoil branches'
const noted = 'branch'
const stored = 'stored'

/** Before a checkpoint is put that does not follow the head. */
export function noteBranch(cf: Counterfoil, threadId: string, stepId: string): Promise<void> {
  return note(cf, threadId, noted, stepId, {})
}

/**
 * After it was put. Until then the other line could send: what it has begun by this time is not the
 * branch's, whatever time the checkpoint itself says.
 */
export function noteStored(cf: Counterfoil, threadId: string, stepId: string): Promise<void> {
  return note(cf, threadId, stored, stepId, { at: cf.store.clock.now() })
}

export async function hasBranches(cf: Counterfoil, threadId: string): Promise<boolean> {
  return (await cf.threads.listWrites({ threadId, space }, [noted])).length > 0
}

/** Since when each branch is in the store, by its first checkpoint; Infinity if nobody noted it. */
export async function storedAt(cf: Counterfoil, threadId: string): Promise<Map<string, number>> {
  const rows = await cf.threads.listWrites({ threadId, space }, [noted, stored])
  const times = new Map<string, number>()
  for (const { stepId, taskId, bodyJson } of rows) {
    if (stepId === noted) times.set(taskId, times.get(taskId) ?? Number.POSITIVE_INFINITY)
    else times.set(taskId, (JSON.parse(bodyJson) as { at: number }).at)
  }
  return times
}

async function note(
  cf: Counterfoil,
  threadId: string,
  what: string,
  branch: string,
  body: object,
): Promise<void> {
  const place = { threadId, space, stepId: what, taskId: branch, place: 0, channel: what }
  await cf.threads.putWrites([{ ...place, bodyJson: JSON.stringify(body) }], false)
}
