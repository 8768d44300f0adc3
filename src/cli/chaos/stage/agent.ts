// One call of a user's agent: it begins or goes on, and comes to its end or to a person.
import { pause, systemClock } from '../../../clock.ts'
import { isCounterfoilError } from '../../../model/errors.ts'
import type { Counterfoil } from '../../../open.ts'
import type { Agent, AgentInput, End } from '../types.ts'
import { failureOf } from '../upstream.ts'

const heldMs = 50
const heldMax = 400

/** Null if it has stopped for what a person decides: that is the driver's, like a parked run. */
export async function callAgent(
  agent: Agent,
  cf: Counterfoil,
  given: AgentInput,
): Promise<End | null> {
  for (let round = 1; ; round++) {
    try {
      return endOf(plain(await agent(cf, given)))
    } catch (error) {
      if (isCounterfoilError(error, 'REPLAY_UNSAFE')) return null
      // A holder that died is found dead in a moment.
      const held = isCounterfoilError(error, 'SCOPE_HELD') && round < heldMax
      if (!held) return { ...ended(null), state: 'failed', error: failureOf(error).message }
      await pause(systemClock, heldMs)
    }
  }
}

/** Messages and the like, as they are written. */
function plain(output: unknown): unknown {
  return JSON.parse(JSON.stringify(output) ?? 'null')
}

function ended(output: unknown): End {
  return { state: 'completed', output, lastState: null, error: null }
}

/**
 * A graph that was interrupted returns as if it had ended. If the interrupt is a doubt of ours it
 * is decided, and the agent called again; what else it waits for comes from nobody.
 */
function endOf(output: unknown): End {
  const { __interrupt__: interrupts } = (output ?? {}) as { __interrupt__?: unknown }
  if (!Array.isArray(interrupts) || interrupts.length === 0) return ended(output)
  const values = interrupts.map((each) => JSON.stringify(each?.value ?? null).slice(0, 100))
  const error =
    `its graph has called interrupt(${values.join('), interrupt(')}), and nobody answers: do ` +
    'that in `agent`, as your users would: graph.invoke(new Command({ resume: … }), config)'
  return { ...ended(output), state: 'interrupted', error }
}
