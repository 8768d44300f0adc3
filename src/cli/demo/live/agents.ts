// The agents that the live demo keeps going: two of the examples, and the one of the story.
import type { Graph } from '../../../index.ts'
import { outreach } from '../agent.ts'

/** Examples are shipped as they are: programs to read and to run. */
export function example<T>(path: string): Promise<T> {
  return import(new URL(`../../../../examples/${path}`, import.meta.url).href) as Promise<T>
}

export interface Agents {
  readonly onboarding: Graph
  readonly trip: Graph
  readonly outreach: Graph
}

export async function loadAgents(): Promise<Agents> {
  const { onboarding } = await example<{ onboarding: Graph }>('onboarding/agent.mjs')
  const { trip } = await example<{ trip: Graph }>('trip/agent.mjs')
  return { onboarding, trip, outreach: outreach as Graph }
}
