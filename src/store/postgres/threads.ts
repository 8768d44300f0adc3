// The steps of foreign runtimes' threads, and what their tasks have written.
import type { ThreadStore } from '../threads.ts'

export function threads(): ThreadStore {
  const refuse = async (): Promise<never> => {
    throw new Error('threads are not kept on Postgres yet')
  }
  return {
    putStep: refuse,
    putWrites: refuse,
    loadSteps: refuse,
    listSteps: refuse,
    listWrites: refuse,
    pruneSteps: refuse,
    dropThread: refuse,
    listIdleThreads: refuse,
  }
}
