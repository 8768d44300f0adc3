// What happened to a call, from its attempts and the run's events, in order of time.
import type { Tone } from '../tone.ts'
import type { Event, ItemPageData } from '../wire.ts'
import { spaced } from '../words.ts'

export interface Moment {
  readonly at: string
  readonly what: string
  readonly more: string
  readonly tone: Tone
}

type Attempt = ItemPageData['call']['attempts'][number]

export function momentsOf(item: ItemPageData): Moment[] {
  const first = item.call.attempts[0]?.dispatched_at ?? item.created_at
  const moments = [
    ...item.call.attempts.flatMap(ofAttempt),
    ...item.events.filter(({ at }) => at >= first).flatMap(ofEvent),
  ]
  return moments.sort((a, b) => a.at.localeCompare(b.at))
}

function ofAttempt(attempt: Attempt): Moment[] {
  const where = attempt.pid === null ? '' : `, pid ${attempt.pid} on ${attempt.host}`
  const name = `attempt ${attempt.attempt}`
  const worker = `worker ${attempt.worker_id}${where}`
  const moments: Moment[] = [
    {
      at: attempt.dispatched_at,
      what: 'Sent',
      more: `${name}, by ${worker}; attempt id ${attempt.attempt_id}`,
      tone: 'busy',
    },
  ]
  if (attempt.ended_at !== null) {
    const tone = attempt.outcome === 'landed' ? 'good' : 'bad'
    const more = attempt.outcome === null ? '' : `outcome: ${spaced(attempt.outcome)}`
    moments.push({
      at: attempt.ended_at,
      what: `The tool's function returned (${name})`,
      more,
      tone,
    })
  }
  if (attempt.worker_died_at !== null) {
    const more = [worker, attempt.death_proof].filter(Boolean).join('; ')
    moments.push({ at: attempt.worker_died_at, what: 'Worker found dead', more, tone: 'bad' })
  }
  return moments
}

function ofEvent({ at, kind, data }: Event): Moment[] {
  const text = (name: string) => String(data[name] ?? '')
  if (kind === 'taken_over' || kind === 'claimed') {
    const what = kind === 'claimed' ? 'Resumed' : 'Resumed by another worker'
    const why = data['cause'] === 'dead' ? ', because the one before it was dead' : ''
    return [{ at, what, more: `worker ${text('worker')}${why}`, tone: 'busy' }]
  }
  if (kind === 'probed') {
    const tone = data['landed'] === 'yes' ? 'good' : 'wait'
    return [
      { at, what: `Upstream asked: did it happen? ${text('landed')}`, more: text('tool'), tone },
    ]
  }
  if (kind === 'call_attempt_failed') {
    return [{ at, what: 'Attempt failed', more: text('message') || text('error'), tone: 'bad' }]
  }
  if (kind === 'doubt') {
    return [{ at, what: 'Put before a person', more: text('title'), tone: 'wait' }]
  }
  if (kind === 'decided') {
    const more = `${text('outcome')} by ${text('by')}: ${text('why')}`
    return [{ at, what: 'Decided', more: spaced(more), tone: 'good' }]
  }
  return []
}
