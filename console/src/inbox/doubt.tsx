// A doubt: the call, what became of every attempt, and whether it can still land.
import { probeWords } from '../../../src/model/decisions/words.ts'
import { now } from '../clock.ts'
import { Badge, Fields, Section } from '../ui/parts.tsx'
import { Data } from '../ui/value.tsx'
import type { ItemPageData } from '../wire.ts'
import { absolute, clockTime, duration, parseMs, relative } from '../words.ts'
import { WhereToLook } from './look.tsx'
import { momentsOf } from './moments.ts'

export function Doubt({ item }: { item: ItemPageData }) {
  return (
    <>
      <WhereToLook look={item.where_to_look} />
      <TheCall item={item} />
      {item.call.attempts.length === 0 ? null : <Attempts item={item} />}
      {item.reason === 'unknown' && item.state === 'open' ? <Ended item={item} /> : null}
    </>
  )
}

function TheCall({ item }: { item: ItemPageData }) {
  const { call } = item
  const { subject } = call
  if (subject === null) return null
  const external = externalIdOf(item)
  const sent = item.reason !== 'drift' && item.reason !== 'same_effect'
  const ifSent = (text: string) => (sent ? text : null)
  return (
    <Section title={sent ? 'The call' : 'The call that waits (not sent)'}>
      <Fields
        rows={[
          [
            'Tool',
            <span key="t">
              <code>{subject.tool_name}</code>{' '}
              {call.replay_class === null ? null : <Badge word={call.replay_class} />}
            </span>,
          ],
          ['Place', `call ${subject.nth + 1} of this tool, at node ${call.node}`],
          ['Key', call.idempotency_key === null ? null : <code>{call.idempotency_key}</code>],
          ['External id', external === null ? ifSent('not known') : <code>{external}</code>],
          ['Probe', ifSent(probeWords(item.probe))],
          ['Error', item.error === null ? null : `${item.error.code}: ${item.error.message}`],
        ]}
      />
      <h3>Input</h3>
      <Data value={call.input} label="input" />
    </Section>
  )
}

function externalIdOf(item: ItemPageData): string | null {
  const known = item.events
    .map((event) => event.data['externalId'] ?? event.data['external_id'])
    .filter((id) => typeof id === 'string')
  return (known.at(-1) as string | undefined) ?? null
}

function Attempts({ item }: { item: ItemPageData }) {
  const moments = momentsOf(item)
  const first = moments[0]?.at ?? item.created_at
  return (
    <Section title="What happened to it">
      <ol class="timeline">
        {moments.map((moment) => (
          <li key={`${moment.at}${moment.what}`} class={moment.tone}>
            <span class="strong">{moment.what}</span> <At at={moment.at} first={first} />
            {moment.more === '' ? null : <span class="under dim">{moment.more}</span>}
          </li>
        ))}
      </ol>
    </Section>
  )
}

/** To the second, and how long after the first: in a doubt that is what one compares with logs. */
function At({ at, first }: { at: string; first: string }) {
  const ms = parseMs(at)
  const after = ms - parseMs(first)
  return (
    <time class="dim" dateTime={at} title={`${absolute(ms)}, ${relative(ms, now.value)}`}>
      {after === 0 ? clockTime(ms) : `${clockTime(ms)}, ${duration(after)} later`}
    </time>
  )
}

/** I5: whether anything that was sent may still arrive, and until when. */
export function Ended({ item }: { item: ItemPageData }) {
  const quiet = item.did_not_happen
  if (quiet === null) return null
  const from = quiet.from === null ? null : parseMs(quiet.from)
  if (quiet.may_still_run || from === null) {
    return (
      <p class="note wait" role="note">
        <span class="strong">An attempt may still be running.</span> It has ended once its worker is
        found dead or reports the end; the quiet time begins then.
      </p>
    )
  }
  if (from > now.value) {
    return (
      <p class="note wait" role="note">
        <span class="strong">
          Every attempt has ended; quiet time runs for{' '}
          <span class="countdown">{duration(from - now.value, true)}</span> more.
        </span>{' '}
        {`What was sent may arrive until ${clockTime(from)}, though its sender is gone. That is `}
        an assumption about the network, not a proof.
      </p>
    )
  }
  return (
    <p class="note good" role="note">
      <span class="strong">Every attempt has ended, and the quiet time is over.</span>
      {` A look that was taken after ${clockTime(from)} counts.`}
    </p>
  )
}
