// An attempt has one name in the world: an upstream that keeps it finds that very attempt.
import { expect, test } from 'vitest'
import type { Inbox } from '../../../src/client/inbox/inbox.ts'
import { itemViewJson } from '../../../src/client/wire/rows.ts'
import type { CallInfo } from '../../../src/index.ts'
import {
  attemptId,
  attemptName,
  attemptPlace,
  numberOfAttempt,
} from '../../../src/model/run/attempt-id.ts'
import type { ProbeAnswer } from '../../../src/model/tool/tool.ts'
import type { Commit } from '../../../src/store/store.ts'
import { fake, flow, Lab } from '../../lab.ts'

const safe = /^[a-z2-7]{26}$/

/** The guide's own: what is sent carries the attempt's name, and the probe looks for it. */
class Mailer {
  readonly sent = new Map<string, { id: string }>()
  readonly asked: string[] = []

  send(reference: string): { id: string } {
    if (this.sent.has(reference)) throw new Error(`two mails have the reference ${reference}`)
    const mail = { id: `mail ${this.sent.size + 1}` }
    this.sent.set(reference, mail)
    return mail
  }

  find(reference: string): ProbeAnswer<{ id: string }> {
    this.asked.push(reference)
    const found = this.sent.get(reference)
    return found ? { landed: 'yes', result: found } : { landed: 'unknown' }
  }
}

function mailOf(lab: Lab, mailer: Mailer, land: (call: CallInfo) => boolean) {
  const mail = fake(lab, 'mail', 'unsafe_on_replay', {
    ms: 50,
    does: (_n: number, _input: unknown, call: CallInfo) => {
      if (!land(call)) return new Promise<never>(() => {})
      return mailer.send(call.attemptId)
    },
    probe: (_input: unknown, call: CallInfo) => mailer.find(call.attemptId),
  })
  return flow([mail.tool], async (ctx) => (await ctx.call(mail.tool, { to: 'ana' })).id)
}

test('C2 identical mails of two runs: a probe takes neither for the other', async () => {
  const mailer = new Mailer()
  const first = new Lab()
  expect(
    await first.process(
      mailOf(first, mailer, () => true),
      null,
    ),
  ).toBe('ended')
  // The other run has the very same run id, in another store; its process dies before the mail.
  const other = new Lab()
  other.clock.uuid() // two labs have the same chance; two processes do not
  let dispatched = 0
  const graph = mailOf(other, mailer, () => {
    dispatched++
    return false
  })
  await other.process(graph, null, { killWhen: () => dispatched === 1 })
  expect(await other.process(graph, null)).toBe('parked')
  expect(mailer.sent.size).toBe(1)
  const item = await other.item()
  expect(item.reason).toBe('unknown')
  expect(mailer.asked).toEqual([item.body.attemptId])
  expect(item.body.attemptId).toMatch(safe)
  expect(await first.findings()).toEqual([])
  expect(await other.findings()).toEqual([])
})

test('G1 the probe of a resume asks with the name that the attempt was sent under', async () => {
  const lab = new Lab()
  const mailer = new Mailer()
  const graph = mailOf(lab, mailer, () => true)
  await lab.process(graph, null, { killWhen: () => mailer.sent.size === 1 })
  expect(await lab.process(graph, null)).toBe('ended')
  expect(mailer.asked).toEqual([...mailer.sent.keys()])
  expect(await lab.output()).toBe('mail 1')
  expect(mailer.sent.size).toBe(1)
})

test('G1 a keyed call sent again: a name for each attempt, probed with the last', async () => {
  const lab = new Lab()
  const names: string[] = []
  const asked: string[] = []
  const charge = fake(lab, 'charge', 'idempotent_with_key', {
    ms: 50,
    does: (_n: number, _input: unknown, call: CallInfo) => {
      names.push(call.attemptId)
      return new Promise<never>(() => {})
    },
    probe: (_input: unknown, call: CallInfo) => {
      asked.push(call.attemptId)
      return { landed: 'no' }
    },
  })
  const graph = flow([charge.tool], (ctx) => ctx.call(charge.tool, 1))
  for (let life = 1; life <= 3; life++) {
    await lab.process(graph, null, { killWhen: () => names.length === life })
  }
  expect(new Set(names).size).toBe(3)
  expect(asked).toEqual(names.slice(0, 2))
  const rows = await lab.attempts()
  expect(rows.map((row) => attemptName(row.attemptId))).toEqual(names)
  expect(rows.map((row) => numberOfAttempt(row.attemptId))).toEqual([1, 2, 3])
})

test('I4 a lost acknowledgement: the same changes again, under the same name', async () => {
  const lab = new Lab()
  const mailer = new Mailer()
  const graph = mailOf(lab, mailer, () => true)
  const written: string[] = []
  let lost = false
  const commit = async (batch: readonly Commit[], apply: () => Promise<never>) => {
    const made = batch.flatMap(({ changes }) => changes.attempts ?? [])
    written.push(...made.map((row) => row.attemptId))
    const results = await apply()
    if (made.length === 0 || lost) return results
    lost = true
    throw new Error('the line was cut')
  }
  expect(await lab.process(graph, null, { commit: commit as never })).toBe('ended')
  expect(written).toHaveLength(2)
  expect(new Set(written).size).toBe(1)
  expect([...mailer.sent.keys()]).toEqual([attemptName(written[0] ?? '')])
})

test('C2 children of one parent and namesakes in other namespaces differ too', () => {
  const place = attemptPlace(0, 1, 'mail/ab/0', 1)
  const of = { namespace: 'default', runId: 'r', spanId: '0'.repeat(16) }
  const ids = [
    attemptId(place, of),
    attemptId(place, { ...of, namespace: 'staging' }),
    attemptId(place, { ...of, runId: 'child_1' }),
    // A copy of the store draws another span.
    attemptId(place, { ...of, spanId: '1'.repeat(16) }),
    attemptId(attemptPlace(0, 1, 'mail/ab/0', 2), of),
  ]
  expect(new Set(ids.map(attemptName)).size).toBe(ids.length)
  for (const id of ids) expect(attemptName(id)).toMatch(safe)
})

test('J5 an attempt of an older release keeps the id that its upstream was told', async () => {
  const lab = new Lab()
  const mailer = new Mailer()
  const graph = mailOf(lab, mailer, () => true)
  let renamed = false
  // What 0.1.0 wrote: the place alone.
  const commit = async (batch: readonly Commit[], apply: () => Promise<never>) => {
    for (const { changes } of batch) {
      for (const row of changes.attempts ?? []) {
        Object.assign(row, { attemptId: row.attemptId.slice(0, row.attemptId.indexOf('~')) })
        renamed = true
      }
    }
    return apply()
  }
  const options = { commit: commit as never, killWhen: () => mailer.sent.size === 1 }
  await lab.process(graph, null, options)
  expect(renamed).toBe(true)
  await lab.process(graph, null)
  const [row] = await lab.attempts()
  expect(mailer.asked).toEqual([row?.attemptId])
  expect((await lab.item()).body.attemptId).toBe(row?.attemptId)
})

test('E2 a doubt lists the attempts of its own call, not those of an identical one', async () => {
  const lab = new Lab()
  const names: string[] = []
  const send = fake(lab, 'send', 'unsafe_on_replay', {
    ms: 50,
    does: (_n: number, _input: unknown, call: CallInfo) => {
      names.push(call.attemptId)
      return { id: call.attemptId }
    },
  })
  const graph = flow([send.tool], async (ctx) => {
    await ctx.call(send.tool, { to: 'ana' })
    await ctx.call(send.tool, { to: 'ana' })
  })
  await lab.process(graph, null, { killWhen: () => names.length === 2 })
  expect(await lab.process(graph, null)).toBe('parked')
  const { itemId } = await lab.item()
  const inbox: Inbox = lab.inbox
  const item = await inbox.get(itemId)
  expect(item.attempts.map((row) => row.attemptId)).toEqual([names[1]])
  expect(item.body.attemptId).toBe(names[1])
  const look = { item, workers: new Map(), replayClass: null, unusable: null }
  const json = itemViewJson(look as Parameters<typeof itemViewJson>[0])
  expect(json.call.attempts.map((row) => row.attempt_id)).toEqual([names[1]])
})
