// That a thread has branches is kept beside its steps, so that a call of one that has none need not
// look for them.
import type { Counterfoil } from '../../index.ts'

/** No graph has a space of this name. */
const space = 'counterfoil branches'
const noted = 'branch'

/** Before a checkpoint is put that does not follow the head. */
export async function noteBranch(cf: Counterfoil, threadId: string, stepId: string) {
  const place = { threadId, space, stepId: noted, taskId: stepId, place: 0, channel: noted }
  await cf.threads.putWrites([{ ...place, bodyJson: '{}' }], false)
}

export async function hasBranches(cf: Counterfoil, threadId: string): Promise<boolean> {
  return (await cf.threads.listWrites({ threadId, space }, [noted])).length > 0
}
