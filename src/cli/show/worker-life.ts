// Whether workers live, as far as this machine can tell.
import { lifeOf } from '../../client/worker.ts'
import type { Run } from '../../model/run/records.ts'
import { scopeGraph } from '../../model/run/scope.ts'
import type { Counterfoil } from '../../open.ts'
import { plural } from './text.ts'

/** Whether somebody is there to carry a run on. */
export async function whoGoesOn(cf: Counterfoil, run: Run): Promise<string> {
  if (run.graph === scopeGraph.name) {
    return 'It goes on when the runtime that it belongs to comes to this place again.'
  }
  const count = (await cf.store.workers()).filter((row) => lifeOf(row) === 'alive').length
  if (count > 0) return `${plural(count, 'worker')} on this store will carry the run on.`
  return (
    'No worker is on this store now: the run goes on when one starts ' +
    '(your program, or counterfoil dev).'
  )
}
