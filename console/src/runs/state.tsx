// The state of a run, at its present visit or an earlier one.
import { useResource } from '../resource.ts'
import { go, param, withQuery } from '../route.tsx'
import { Loaded, Section } from '../ui/parts.tsx'
import { Data } from '../ui/value.tsx'
import type { RunView } from '../wire.ts'
import { pathOf } from './paths.ts'

export interface StateAt {
  readonly visit: number
  readonly state: unknown
}

export function StatePanel({ run }: { run: RunView }) {
  const visit = param('visit')
  const state = useResource<StateAt>(
    pathOf(run.run_id, visit === null ? '/state' : `/state?visit=${encodeURIComponent(visit)}`),
  )
  const choose = (
    <label class="filter">
      <span>At visit</span>
      <select
        value={visit ?? ''}
        onChange={(event) => go(withQuery({ visit: event.currentTarget.value }))}
      >
        <option value="">the present one</option>
        {run.path.map((stop) => (
          <option key={stop.visit} value={stop.visit}>{`${stop.visit}: ${stop.node}`}</option>
        ))}
      </select>
    </label>
  )
  return (
    <Section title="State" aside={choose}>
      <Loaded from={state}>{(data) => <Data value={data.state} label="state" />}</Loaded>
    </Section>
  )
}
