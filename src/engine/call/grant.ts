// One send that a person has allowed.
import { keptText } from '../../model/json/canonical.ts'
import type { Entry } from '../../model/replay/entry.ts'
import type { Decision } from '../../model/run/records.ts'
import type { Visit } from '../visit/visit.ts'
import type { IssuedCall } from './call.ts'
import { checkEdit, noteUnusable, rest } from './ruling.ts'

/** Of what was recorded, or of what a person has put in its place; asked again if it is unfit. */
export function obeyGrant(
  visit: Visit,
  call: IssuedCall,
  entry: Entry,
  grant: Decision,
  { send, ask }: { send: () => void; ask: () => void },
): void {
  if (grant.kind !== 'approval') return send()
  const pass = () => {
    call.passed = true
    send()
  }
  const { input: schema } = call.tool.rules
  if (grant.outcome !== 'edit' || grant.resultJson === null) return pass()
  const edited = JSON.parse(grant.resultJson)
  const check = async () => keptText(schema ? await checkEdit(call, schema, edited) : edited)
  const accept = (json: string) => {
    call.editedJson = json
    if (visit.phase === 'running') pass()
  }
  rest(visit, check(), accept, (error) => {
    if (visit.phase !== 'running') return
    entry.grant = null
    noteUnusable(visit, call, error)
    ask()
  })
}
