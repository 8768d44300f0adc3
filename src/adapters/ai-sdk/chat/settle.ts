// Calls of earlier turns that something is known of since their client went on: a person has
// decided, or a late report came. They are made once more where they belong, so that the gate obeys
// what was said and the ledger has it. Nothing is sent: what a person has allowed to be sent was
// wanted by a turn that is over, and the user may have thought better of it. It lapses, on record.
import type { Counterfoil, Scope, Tool } from '../../../index.ts'
import { CallFailedError, isCounterfoilError, NotSentError } from '../../../model/errors.ts'
import { makeTool } from '../../../model/tool/tool.ts'
import { fromPlain, toPlain } from '../codec.ts'
import { isAnswer } from '../failure.ts'
import { openPlace } from '../host.ts'
import { placeIds } from '../places.ts'
import type { Answer, OpenCall, Where } from './open-call.ts'

const lapsed =
  'a person has let it be sent, but the chat had gone on by then: it was not sent; ' +
  'if it is still wanted, it has to be asked for anew'

export async function settle(
  calls: readonly OpenCall[],
  { cf, tools, anew }: Where,
): Promise<Map<OpenCall, Answer>> {
  const answers = new Map<OpenCall, Answer>()
  if (calls.length === 0) return answers
  const scopes = new Map<object, Scope>()
  try {
    for (const call of calls) {
      const tool = tools.get(call.tool)
      const scope = scopes.get(call.turn) ?? (await scopeOf(cf, call))
      if (tool === undefined || scope === null) continue
      scopes.set(call.turn, scope)
      const answer = await make(scope, tool, call)
      if (answer) answers.set(call, answer)
    }
    await anew()
  } finally {
    for (const scope of scopes.values()) await scope.close()
  }
  return answers
}

/** Null if somebody else is at it, or a person has abandoned it. */
async function scopeOf(cf: Counterfoil, { turn: { past } }: OpenCall): Promise<Scope | null> {
  try {
    const scope = await openPlace(cf, past.ids)
    const asked = [...past.asked, ...past.cut]
    scope.seen(
      asked.flatMap(({ toolName: tool, toolCallId, generation, reply }) =>
        placeIds(generation, reply, toolCallId).map((callId) => ({ tool, callId })),
      ),
    )
    return scope
  } catch (error) {
    const left = ['SCOPE_HELD', 'RUN_ABANDONED']
    if (isCounterfoilError(error) && left.includes(error.code)) return null
    throw error
  }
}

async function make(scope: Scope, tool: Tool, call: OpenCall): Promise<Answer | null> {
  const { row, callId, input } = call
  const asked = row?.inputJson ? JSON.parse(row.inputJson) : (toPlain(input) ?? null)
  try {
    const value = await scope.call(unsent(tool), asked, { callId, placed: {} })
    return { state: 'done', output: fromPlain(value), landed: true }
  } catch (error) {
    // A person is asked again, or the hold was lost: nothing more is known than before.
    if (!isAnswer(error)) return null
    const said = error instanceof CallFailedError ? error.failure.message : (error as Error).message
    const landed = isCounterfoilError(error, 'OUTCOME_UNKNOWN')
    return { state: 'failed', message: said, landed }
  }
}

/** The tool in all but what it sends. */
function unsent({ name, replayClass, rules }: Tool): Tool {
  const set = Object.entries(rules).filter(([, rule]) => rule !== null && rule !== undefined)
  const { probe: _, ...spec } = Object.fromEntries(set)
  const run = () => {
    throw new NotSentError(lapsed)
  }
  return makeTool(name, { ...spec, replayClass, retry: { attemptMax: 1 }, run })
}
