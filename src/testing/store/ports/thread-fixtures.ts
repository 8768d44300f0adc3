// Steps and writes of threads, as the concerns of the suite put and list them.
import type { SpaceRef, ThreadStep, ThreadWrite } from '../../../store/store.ts'
import { namespace, type Subject } from '../fixtures.ts'

export function space(threadId = 't1', more: Partial<SpaceRef> = {}): SpaceRef {
  return { namespace, threadId, space: '', ...more }
}

/** A whole one; with a parent, a change to it. */
export function step(
  stepId: string,
  parentId: string | null = null,
  more: Partial<ThreadStep> = {},
): ThreadStep {
  const texts = { bodyJson: `{"at":"${stepId}"}`, noteJson: '{"source":"loop"}' }
  const whole = parentId === null
  return { ...space(), stepId, parentId, whole, ...texts, createdAt: 1_000, ...more }
}

export function write(
  stepId: string,
  taskId: string,
  place: number,
  more: Partial<ThreadWrite> = {},
) {
  return { ...space(), stepId, taskId, place, channel: 'messages', bodyJson: '"hi"', ...more }
}

export async function put({ store }: Subject, ...steps: ThreadStep[]): Promise<boolean[]> {
  const answers: boolean[] = []
  for (const one of steps) answers.push(await store.putStep(one))
  return answers
}

export const listed = async ({ store }: Subject, at = space()) =>
  (await store.listSteps(at)).items.map((row) => row.stepId)
