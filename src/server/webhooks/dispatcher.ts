// Owns: telling people outside. Notices become deliveries, one for each subscription; deliveries
// are sent until they are taken, or given up. Does not own: which notices there are (the engine
// and the sweeper write them with what they are about).
// Invariants: any number of dispatchers may run. A notice is ended only when its deliveries are on
// record; a delivery is sent only by whoever has put it off for `leaseMs`, so one that dies
// between sending and recording is sent again, under the same id: at least once, never silently
// not.
import { type Clock, randomHex } from '../../clock.ts'
import type { Notice } from '../../model/run/records.ts'
import type { DocumentsPort, InboxPort, Timed } from '../../store/store.ts'
import { addDelivery, type Delivery, kind, putDelivery, read } from './delivery.ts'
import { makeLinks } from './link.ts'
import { payloadOf } from './payload.ts'
import { type SendRules, send, timeoutMs } from './send.ts'
import { signedHeaders } from './signature.ts'
import { findSubscription, listSubscriptions, type Subscription } from './subscription.ts'

export interface DispatcherOptions {
  readonly store: Timed<DocumentsPort & InboxPort>
  readonly clock: Clock
  readonly publicUrl: () => string
  /** Told of what was not foreseen; it is tried again. */
  readonly onError: (error: unknown) => void
  readonly lookup?: NonNullable<SendRules['lookup']>
  readonly pollMs?: number
  /** First and longest wait between two attempts, and how many there are. */
  readonly backoffMs?: number
  readonly backoffMaxMs?: number
  readonly attemptMax?: number
  readonly timeoutMs?: number
}

const defaults = {
  pollMs: 500,
  backoffMs: 5_000,
  backoffMaxMs: 6 * 3_600_000,
  // With these waits: about half a day.
  attemptMax: 14,
  timeoutMs,
}
/** Longer than any attempt takes: then whoever had it is gone. */
const leaseSlackMs = 5_000
const batchMax = 16

export class Dispatcher {
  private readonly options: DispatcherOptions & typeof defaults
  private readonly id = `dispatcher_${randomHex(6)}`
  private cancel: () => void = () => {}
  private running: Promise<void> | null = null
  private stopped = false

  constructor(options: DispatcherOptions) {
    this.options = { ...defaults, ...options }
  }

  start(): void {
    this.again(0)
  }

  /** What is under way ends first; it takes no longer than an attempt. */
  async stop(): Promise<void> {
    this.stopped = true
    this.cancel()
    await this.running
  }

  private again(ms: number): void {
    if (this.stopped) return
    this.cancel = this.options.clock.after(ms, () => {
      this.running = this.pass()
        .then((busy) => this.again(busy ? 0 : this.options.pollMs))
        .catch((error) => {
          this.options.onError(error)
          this.again(this.options.pollMs * 4)
        })
    })
  }

  /** Whether there is more to do at once. */
  async pass(): Promise<boolean> {
    const { store } = this.options
    const notices = await store.takeNotices(this.id, batchMax, leaseSlackMs)
    for (const notice of notices) await this.addressed(notice)
    const dueBefore = store.clock.now()
    const { items } = await store.listDocuments({ kind, dueBefore, countMax: batchMax })
    const sent = await Promise.all(items.map((row) => this.deliver(read(row))))
    return notices.length === batchMax || (items.length === batchMax && sent.some(Boolean))
  }

  private async addressed(notice: Notice): Promise<void> {
    const { store } = this.options
    for (const one of await listSubscriptions(store, notice.namespace)) {
      if (wants(one, notice)) await addDelivery(store, notice, one.id)
    }
    await store.endNotice(notice.namespace, notice.noticeId)
  }

  /** False if somebody else has it. */
  private async deliver(found: Delivery): Promise<boolean> {
    const { store, timeoutMs: limitMs } = this.options
    const until = store.clock.now() + limitMs + leaseSlackMs
    const attempts = found.attempts + 1
    const mine = await putDelivery(store, found, { attempts }, until)
    if (mine === null) return false
    const { last, state, waitMs } = await this.attempt(mine)
    const lastAt = store.clock.now()
    await putDelivery(
      store,
      mine,
      { last, state, lastAt },
      waitMs === null ? null : lastAt + waitMs,
    )
    return true
  }

  private async attempt(delivery: Delivery) {
    const { store, publicUrl } = this.options
    const { notice, webhookId, namespace } = delivery
    const to = await findSubscription(store, namespace, webhookId)
    if (to === null)
      return { last: 'the webhook was removed', state: 'failed', waitMs: null } as const
    const { subscription, secret } = to
    try {
      const links = await makeLinks({ store, publicUrl: publicUrl() }, subscription, notice)
      const body = payloadOf(notice, subscription.format, publicUrl(), links)
      const headers = {
        ...signedHeaders(secret, delivery.id, store.clock.now(), body),
        'content-type': 'application/json',
        'user-agent': 'counterfoil',
      }
      const { status, answer } = await send(
        subscription.url,
        body,
        headers,
        this.rules(subscription),
      )
      if (status >= 200 && status < 300) {
        return { last: `${status}`, state: 'delivered', waitMs: null } as const
      }
      const said = `${status} ${answer.slice(0, 200)}`.trim()
      // Gone: it does not want to be told any more.
      if (status === 410) return { last: said, state: 'failed', waitMs: null } as const
      return this.missed(delivery, said)
    } catch (error) {
      return this.missed(delivery, (error as Error).message)
    }
  }

  private rules({ allowPrivate }: Subscription): SendRules {
    const { clock, lookup, timeoutMs: limitMs } = this.options
    return { clock, allowPrivate, timeoutMs: limitMs, ...(lookup ? { lookup } : {}) }
  }

  private missed({ attempts }: Delivery, last: string) {
    const { attemptMax, backoffMs, backoffMaxMs, clock } = this.options
    if (attempts >= attemptMax) return { last, state: 'failed', waitMs: null } as const
    const full = Math.min(backoffMs * 2 ** (attempts - 1), backoffMaxMs)
    return { last, state: 'waiting', waitMs: full * (0.5 + clock.random() / 2) } as const
  }
}

function wants({ kinds, queues }: Subscription, { kind: told, dataJson }: Notice): boolean {
  if (!kinds.includes(told)) return false
  const { queue } = JSON.parse(dataJson) as { queue?: string }
  return queues === null || queue === undefined || queues.includes(queue)
}
