// The question that a held call is.
import type { RiskAsk } from '../../model/tool/risk.ts'
import type { Ask, IssuedCall } from '../call/call.ts'

/** What a person is shown about a held call: its input, and what the policy adds. */
export function askAbout(call: IssuedCall, said: RiskAsk): Ask {
  const { title, queue, data, why, ...terms } = said
  const input = JSON.parse(call.inputJson)
  return {
    kind: 'approval',
    title: title ?? `${call.tool.name}: may it be sent?`,
    data: data === undefined ? { input } : { input, data },
    queue: queue ?? 'approvals',
    terms,
    schema: call.tool.rules.input,
    why: why ?? null,
  }
}
