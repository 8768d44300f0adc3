// Where webhooks may go: judged by the address that is connected to, whatever a name said before.
import { describe, expect, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { isPrivate } from '../../src/server/webhooks/address.ts'
import { send } from '../../src/server/webhooks/send.ts'
import { startServer } from './harness.ts'
import { type Receiver, startReceiver } from './receiving.ts'

const inner = [
  ...['0.0.0.0', '10.1.2.3', '100.64.0.1', '127.0.0.1', '127.9.9.9', '169.254.169.254'],
  ...['172.16.0.1', '172.31.255.255', '192.168.1.1', '198.18.0.1', '224.0.0.1', '255.255.255.255'],
  ...[
    '::',
    '::1',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '::ffff:10.0.0.1',
    'fe80::1%eth0',
    'fd00::1',
  ],
  ...['ff02::1', '64:ff9b::7f00:1', '2002:7f00:1::', '2001::1', 'fec0::1', 'nonsense', ''],
]
const outer = [
  '1.1.1.1',
  '8.8.8.8',
  '172.32.0.1',
  '100.128.0.1',
  '2606:4700::1111',
  '::ffff:8.8.8.8',
]

test.each(inner)('E5 %s is an address of this network', (address) => {
  expect(isPrivate(address)).toBe(true)
})

test.each(outer)('E5 %s is one of the internet', (address) => {
  expect(isPrivate(address)).toBe(false)
})

describe('E5 what is connected to', () => {
  // biome-ignore lint/suspicious/noExplicitAny: the signatures of dns.lookup
  const lookupOf = (...answers: string[][]): any => {
    let n = 0
    // biome-ignore lint/suspicious/noExplicitAny: the same
    return (_: string, __: object, done: any) => {
      const addresses = answers[Math.min(n++, answers.length - 1)] ?? []
      done(
        null,
        addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
      )
    }
  }
  const rules = { clock: systemClock, allowPrivate: false, timeoutMs: 30_000 }

  /** With leave one arrives, and it is the only one: what the receiver says comes in its order. */
  const expectNothingBefore = async ({ port, received }: Receiver) => {
    const allowed = { ...rules, allowPrivate: true, lookup: lookupOf(['127.0.0.1']) }
    const sent = await send(`http://rebind.example:${port}/with-leave`, '{}', {}, allowed)
    expect(sent.status).toBe(204)
    await expect.poll(() => received.map(({ url }) => url)).toEqual(['/with-leave'])
  }

  test('E5 a name that leads to this machine is refused, and nothing is sent', async () => {
    const receiver = await startReceiver()
    const url = `http://rebind.example:${receiver.port}/`
    for (const found of [['127.0.0.1'], ['8.8.8.8', '127.0.0.1'], ['::ffff:127.0.0.1'], ['::1']]) {
      const sent = send(url, '{}', {}, { ...rules, lookup: lookupOf(found) })
      await expect(sent).rejects.toMatchObject({ code: 'WEBHOOK_ADDRESS' })
    }
    await expectNothingBefore(receiver)
  })

  test('E5 a name that changed since it was looked at gains nothing (DNS rebinding)', async () => {
    const receiver = await startReceiver()
    // Good when somebody asks first, bad when it is connected to.
    const lookup = lookupOf(['93.184.216.34'], ['127.0.0.1'])
    lookup('rebind.example', {}, () => {})
    const url = `http://rebind.example:${receiver.port}/`
    await expect(send(url, '{}', {}, { ...rules, lookup })).rejects.toMatchObject({
      code: 'WEBHOOK_ADDRESS',
    })
    await expectNothingBefore(receiver)
  })

  test('E5 addresses in the URL itself, however they are spelled', async () => {
    const receiver = await startReceiver()
    for (const host of ['127.0.0.1', '0x7f.1', '2130706433', '[::1]', '[::ffff:7f00:1]', '127.1']) {
      const sent = send(`http://${host}:${receiver.port}/`, '{}', {}, rules)
      await expect(sent).rejects.toMatchObject({ code: 'WEBHOOK_ADDRESS' })
    }
    const sent = send(`http://localhost:${receiver.port}/`, '{}', {}, rules)
    await expect(sent).rejects.toMatchObject({ code: 'WEBHOOK_ADDRESS' })
    await expectNothingBefore(receiver)
  })

  test('E5 a receiver that never answers, and one that never stops, are left', async () => {
    const silent = await startReceiver(['hang'])
    const may = { ...rules, allowPrivate: true, timeoutMs: 200 }
    await expect(send(silent.url, '{}', {}, may)).rejects.toThrow(/no answer within 200 ms/)
    const loud = await startReceiver(['large'])
    const { status, answer } = await send(loud.url, '{}', {}, { ...may, timeoutMs: 30_000 })
    expect([status, answer.length]).toEqual([500, 2_048])
  })

  test('E5 a webhook to such an address cannot be added by an admin of one namespace', async () => {
    const { as } = await startServer()
    const own = await as('admin')
    const all = await as('admin', { namespace: '*' })
    const add = async (client: typeof own, body: object) => {
      const { status, json } = await client.post('/v1/webhooks', body)
      return [status, json?.code ?? null]
    }
    expect(await add(own, { url: 'https://10.0.0.1/x' })).toEqual([422, 'WEBHOOK_ADDRESS'])
    expect(await add(own, { url: 'http://example.com/x' })).toEqual([422, 'WEBHOOK_INVALID'])
    expect(await add(own, { url: 'ftp://example.com/x' })).toEqual([422, 'WEBHOOK_INVALID'])
    expect(await add(own, { url: 'https://a:b@example.com' })).toEqual([422, 'WEBHOOK_INVALID'])
    const inside = { url: 'http://10.0.0.1/x', allow_private: true }
    expect(await add(own, inside)).toEqual([403, 'ROLE_FORBIDDEN'])
    expect(await add(all, inside)).toEqual([201, null])
  })
})
