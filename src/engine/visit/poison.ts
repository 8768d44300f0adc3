// A run that its workers die of: no call is to blame, or a doubt would have parked it. After so
// many deaths without progress it is put before a person, with the list of them. So is one whose
// changes the store refuses each time: it would go round for ever, and pay for the same work anew.
import * as limits from '../../model/limits.ts'
import type { Event } from '../../model/run/records.ts'
import { rowsOf } from '../../store/pages.ts'
import type { Loaded, Store } from '../../store/store.ts'

// A worker that was stopped gave its runs back; that is nobody's death.
const deadly: readonly unknown[] = ['dead', 'expired', 'unknown', 'boot']

export type Death = Readonly<{ at: number; worker: unknown; cause: unknown }>

/** The deaths since the run last got further, if they are too many; else null. */
export async function deathsOfPoison(store: Store, loaded: Loaded): Promise<Death[] | null> {
  const { run } = loaded
  // Every claim counts until progress is written: most runs are judged by this number alone.
  if (run.claims < limits.claimsMax) return null
  const since = lastProgress(loaded)
  const deaths: Death[] = []
  for await (const event of rowsOf((page) => store.listEvents(run, page))) {
    if (isDeath(event) && event.at > since) {
      deaths.push({ at: event.at, worker: workerOf(event), cause: event.data['cause'] })
    }
  }
  return deaths.length < limits.claimsMax ? null : deaths
}

function isDeath({ kind, data }: Event): boolean {
  if (kind === 'state') return data['refused'] === true
  return kind === 'taken_over' && deadly.includes(data['cause'])
}

/** Whose death it was, or who was refused. */
function workerOf({ kind, data }: Event): unknown {
  return kind === 'state' ? data['worker'] : data['from']
}

/** A checkpoint, a result, an answer that came in, or a person who wants it tried again. */
function lastProgress({ records, checkpoints, decisions, evidence }: Loaded): number {
  const times = [
    ...records.map((row) => row.settledAt ?? 0),
    ...checkpoints.map((row) => row.createdAt),
    ...decisions.map((row) => row.at),
    ...evidence.map((row) => row.at),
  ]
  return times.reduce((latest, at) => Math.max(latest, at), 0)
}
