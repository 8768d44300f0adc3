// What has come for a visit's waits since it was recorded: a signal that is taken, the end of a
// child. Pure functions over what was loaded; waits.ts says which waits are over.

import { canonical } from '../json/canonical.ts'
import { attemptPlace } from '../run/attempt-id.ts'
import type { Run, Signal } from '../run/records.ts'
import type { VisitRows } from './rows.ts'
import { spawnTool } from './waits.ts'

export function usedSignal(signal: Signal, run: Run, key: string): Signal {
  return { ...signal, usedBy: attemptPlace(run.generation, run.visit, key, 0) }
}

interface Envelope {
  runId: string
  state: string
  output: unknown
  outputDigest: string | null
  error: { message?: string; code?: string } | null
}

/** How a child ended, from what its last commit told its parent. */
export function childJson(envelopeJson: string | null, outputs: ReadonlyMap<string, string>) {
  const { runId, state, output, outputDigest, error } = JSON.parse(envelopeJson ?? '{}') as Envelope
  const large = outputDigest === null ? undefined : outputs.get(outputDigest)
  if (state === 'completed') {
    return canonical({ runId, state, output: large === undefined ? output : JSON.parse(large) })
  }
  const { message = state, code } = error ?? {}
  return canonical({ runId, state, error: code === undefined ? { message } : { message, code } })
}

/** Digests of children's outputs that were too large for the message of their end. */
export function childDigests(
  loaded: Pick<VisitRows, 'evidence'>,
): { runId: string; digest: string }[] {
  return loaded.evidence.flatMap(({ verifies, seq, attemptId: id, resultJson }) => {
    if (!verifies || seq !== null || !id.includes(`/${spawnTool}/`)) return []
    const { runId, outputDigest } = JSON.parse(resultJson ?? '{}') as Envelope
    return outputDigest ? [{ runId, digest: outputDigest }] : []
  })
}
