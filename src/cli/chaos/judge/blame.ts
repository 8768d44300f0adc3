// Who is in the way of a run that does not come to its end: a mock that throws, or never answers.
import { clip } from '../../show/text.ts'
import type { Entry, Failure } from '../types.ts'

const shownMax = 200

/** How a mock is named; what a person wrote is found by it. */
export function mockName({ tool, what, real }: Entry): string {
  if (real) return `the function of ${tool}`
  return what === 'probe' ? `mocks.${tool}.probe` : `mocks.${tool}`
}

/** `: mocks.mail threw: TypeError: …`, or nothing. */
export function blameText(entries: readonly Entry[]): string {
  const last = new Map(entries.map((entry) => [mockName(entry), entry]))
  const said = [...last].flatMap(([name, { reply, real }]) => {
    if (reply === null) return real ? [] : [`${name} did not answer`]
    // A refusal is an answer, with which the run has gone on.
    if (reply.ok || reply.error.code === 'REFUSED') return []
    return [failureText(name, reply.error)]
  })
  return said.length === 0 ? '' : `: ${said.join('; ')}`
}

/** The same answer is never taken. */
export function refusedText(entry: Entry, value: unknown): string {
  const shown = clip(JSON.stringify(value) ?? 'nothing', shownMax)
  return `${mockName(entry)} answered ${shown}, which does not fit the \`output\` of its tool`
}

function failureText(name: string, { code, message, name: kind }: Failure): string {
  // It names the mock itself.
  if (code === 'NOT_PLAIN_DATA') return message
  return `${name} threw: ${kind}: ${message}`
}
