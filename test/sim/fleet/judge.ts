// What must be true of a fleet when all is over, by the world's own count.
import { callKeyOfAttempt } from '../../../src/model/run/attempt-id.ts'
import type { Run } from '../../../src/model/run/records.ts'
import { type Plan, type RunPlan, stepsOf } from './plan.ts'
import { tokensOf } from './watch.ts'
import type { Landing } from './world.ts'

export interface Judged {
  readonly plan: Plan
  readonly runs: readonly Run[]
  readonly landings: readonly Landing[]
  /** What is on record as settled, by call. */
  readonly settled: ReadonlyMap<string, string>
  /** Calls that are on record as failed for certain. */
  readonly failed: ReadonlySet<string>
  /** Sites of which a person said, without a look, that it had not happened. */
  readonly unlooked: ReadonlySet<string>
}

export function judge({ plan, runs, landings, settled, failed, unlooked }: Judged): string[] {
  const found: string[] = []
  for (const run of runs) {
    if (run.state === 'failed') found.push(`RUN FAILED: ${run.runId} ${run.errorJson}`)
  }
  const allowed = new Map<string, number>()
  for (const run of plan.runs) countSites(run, allowed)
  const bySite = new Map<string, Landing[]>()
  for (const landing of landings) {
    bySite.set(landing.site, [...(bySite.get(landing.site) ?? []), landing])
  }
  for (const [site, mine] of bySite) {
    const most = allowed.get(site) ?? 0
    if (mine.length <= most || unlooked.has(site)) continue
    const kind = mine[0]?.cls === 'keyed' ? 'KEYED' : 'UNSAFE'
    found.push(`${kind} EFFECT TWICE: ${site} ${mine.length} for ${most}`)
  }
  const landed = new Set(landings.map(({ effect }) => effect))
  for (const { runId, attemptId, site } of landings) {
    const isFailed = failed.has(`${runId}/${callKeyOfAttempt(attemptId)}`)
    if (isFailed && !unlooked.has(site)) found.push(`FAILED BUT LANDED: ${runId} ${attemptId}`)
  }
  for (const [key, result] of settled) {
    for (const token of tokensOf(result)) {
      if (token.startsWith('e') && !landed.has(token)) {
        found.push(`RECEIPT WITHOUT EFFECT: ${key} ${token}`)
      }
    }
  }
  const receipts = new Set([...settled.values()].flatMap((result) => tokensOf(result)))
  for (const { effect, site, runId } of landings) {
    const over = runs.some((run) => run.runId === runId && run.state === 'completed')
    if (over && !receipts.has(effect) && !unlooked.has(site))
      found.push(`EFFECT NOT ON RECORD: ${site} ${effect}`)
  }
  return found
}

function countSites(run: RunPlan, into: Map<string, number>): void {
  for (const part of run.parts) {
    for (const step of stepsOf(part)) {
      if (step.op === 'call') into.set(step.site, (into.get(step.site) ?? 0) + 1)
    }
  }
}
