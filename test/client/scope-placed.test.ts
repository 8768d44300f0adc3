// Calls with a place of their own: a host that comes back for some of its calls only, or in another
// order, is neither taken for one that drifted nor does it send anything twice.
import { afterEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { verifyLedger } from '../../src/client/ledger/verify.ts'
import {
  type Counterfoil,
  type DecideRequest,
  open,
  type Scope,
  type ScopeCallOptions,
  tool,
} from '../../src/index.ts'
import { scopeVisit } from '../../src/model/run/scope.ts'

const opened: Counterfoil[] = []
const ids = { workflowId: 'chat', nodeId: 'agent', checkpointId: 'turn' }
const ref = { namespace: 'default', runId: ids.workflowId }

afterEach(async () => {
  for (const cf of opened.splice(0)) await cf.close()
})

async function findings(cf: Counterfoil) {
  return (await verifyLedger(cf.store, { namespace: 'default' })).findings
}

async function desk() {
  const cf = await open({ store: 'memory:', settleMs: 30, onWarning: () => {} })
  opened.push(cf)
  const sent: string[] = []
  const mail = tool({
    name: 'mail',
    replayClass: 'unsafe_on_replay',
    input: z.string(),
    run: (to) => {
      sent.push(to)
      return { id: `m${sent.length}` }
    },
  })
  const within = async <T>(work: (scope: Scope) => Promise<T>, checkpointId = 'turn') => {
    const scope = await cf.scope({ ...ids, checkpointId })
    try {
      return await work(scope)
    } finally {
      await scope.close()
    }
  }
  const send = (callId: string, to: string, placed: ScopeCallOptions['placed'] = {}) =>
    within((scope) => scope.call(mail, to, { callId, placed }).then((value) => value))
  const records = async (checkpointId = 'turn') => {
    const visit = scopeVisit(ids.nodeId, checkpointId)
    const scope = { nodeId: ids.nodeId, checkpointId }
    return (await cf.store.load(ref, { visit, scope }))?.records ?? []
  }
  const decide = async (said: Partial<DecideRequest> & Pick<DecideRequest, 'outcome'>) => {
    const [item] = (await cf.inbox.list()).items
    if (item === undefined) throw new Error('nothing waits for a person')
    const { itemId, version } = item
    await cf.inbox.decide(itemId, { by: 'ana', reason: 'looked', version, ...said })
    return item
  }
  return { cf, sent, mail, within, send, records, decide }
}

describe('C3 a host that comes back for some of its calls', () => {
  test('calls whose end it knows are not drift, and the next one is sent', async () => {
    const { sent, mail, within, send, cf } = await desk()
    await send('0:a', 'ana')
    await within(async (scope) => {
      scope.seen([{ tool: 'mail', callId: '0:a' }])
      await scope.call(mail, 'ben', { callId: '0:b', placed: {} })
    })
    expect(sent).toEqual(['ana', 'ben'])
    expect((await cf.inbox.list()).items).toEqual([])
    // It still answers its own call.
    await within(async (scope) => {
      scope.seen(['a', 'b'].map((id) => ({ tool: 'mail', callId: `0:${id}` })))
      expect(await scope.call(mail, 'ana', { callId: '0:a', placed: {} })).toEqual({ id: 'm1' })
    })
    expect(sent).toEqual(['ana', 'ben'])
  })

  test('a call that waited goes on once the host says that it knows the other', async () => {
    const { sent, mail, within, send } = await desk()
    await send('0:a', 'ana')
    await within(async (scope) => {
      const waits = scope.call(mail, 'ben', { callId: '0:b', placed: {} })
      scope.seen([{ tool: 'mail', callId: '0:a' }])
      await waits
    })
    expect(sent).toEqual(['ana', 'ben'])
  })

  test('a call that it does not know of is drift', async () => {
    const { sent, send, cf } = await desk()
    await send('0:a', 'ana')
    await expect(send('0:b', 'ben')).rejects.toMatchObject({ code: 'REPLAY_UNSAFE' })
    expect((await cf.inbox.list()).items).toMatchObject([{ reason: 'drift' }])
    expect(sent).toEqual(['ana'])
  })

  test('the same place with another input is drift, although its end is known', async () => {
    const { sent, mail, within, send, cf } = await desk()
    await send('0:a', 'ana')
    const moved = within(async (scope) => {
      scope.seen([{ tool: 'mail', callId: '0:a' }])
      await scope.call(mail, 'Ana', { callId: '0:a', placed: {} })
    })
    await expect(moved).rejects.toMatchObject({ code: 'REPLAY_UNSAFE' })
    expect((await cf.inbox.list()).items).toMatchObject([{ reason: 'drift' }])
    expect(sent).toEqual(['ana'])
  })

  test('the only free record by another id of the call answers it', async () => {
    const { sent, send } = await desk()
    await send('0:a', 'ana')
    expect(await send('1:a', 'ana', { aliases: ['0:a', '2:a'] })).toEqual({ id: 'm1' })
    expect(sent).toEqual(['ana'])
  })

  test('a record whose own call is known is nobody else’s', async () => {
    const { sent, mail, within, send } = await desk()
    await send('0:a', 'ana')
    await within(async (scope) => {
      scope.seen([{ tool: 'mail', callId: '0:a' }])
      await scope.call(mail, 'ana', { callId: '1:a', placed: { aliases: ['0:a'] } })
    })
    expect(sent).toEqual(['ana', 'ana'])
  })

  test('what a person says is bound to the id, not to the number of calls before it', async () => {
    const { sent, mail, within, send, decide } = await desk()
    await send('0:a', 'ana')
    await expect(send('0:b', 'ben')).rejects.toMatchObject({ code: 'REPLAY_UNSAFE' })
    await decide({ outcome: 'send' })
    await within(async (scope) => {
      // Two others come first this time.
      await scope.call(mail, 'ana', { callId: '0:a', placed: {} })
      await scope.call(mail, 'ben', { callId: '0:b', placed: {} })
    })
    expect(sent).toEqual(['ana', 'ben'])
  })
})

describe('E2 same effect', () => {
  async function alike() {
    const made = await desk()
    await made.send('0:a', 'ana')
    const [record] = await made.records()
    if (record === undefined) throw new Error('no record')
    const again = (to: string, answer: typeof record | null = null) =>
      made.within(async (scope) => {
        const placed = { alike: [record], answer }
        return scope.call(made.mail, to, { callId: '0:c', placed })
      }, 'edited')
    return { ...made, record, again }
  }

  test('C2 nothing is sent, and a person sees both', async () => {
    const { sent, cf, again } = await alike()
    await expect(again('Ana')).rejects.toMatchObject({ code: 'REPLAY_UNSAFE' })
    await expect(again('Ana')).rejects.toMatchObject({ code: 'REPLAY_UNSAFE' })
    const { items } = await cf.inbox.list()
    expect(items).toHaveLength(1)
    expect(items[0]).toMatchObject({ reason: 'same_effect', body: { input: 'Ana' } })
    expect(items[0]?.body.unmatched).toMatchObject([{ input: 'ana', result: { id: 'm1' } }])
    expect(sent).toEqual(['ana'])
  })

  test('the record that is used is the receipt of the call from then on', async () => {
    const { sent, cf, again, decide, records } = await alike()
    await expect(again('Ana')).rejects.toMatchObject({ code: 'REPLAY_UNSAFE' })
    await decide({ outcome: 'use_record' })
    expect([await again('Ana'), await again('Ana')]).toEqual([{ id: 'm1' }, { id: 'm1' }])
    expect(sent).toEqual(['ana'])
    expect(await records('edited')).toMatchObject([{ status: 'committed', attempt: 0 }])
    expect(await findings(cf)).toEqual([])
  })

  test('it is sent once after "send", and told to be failed after "fail"', async () => {
    const { sent, again, decide } = await alike()
    await expect(again('Ana')).rejects.toMatchObject({ code: 'REPLAY_UNSAFE' })
    await decide({ outcome: 'send' })
    expect([await again('Ana'), await again('Ana')]).toEqual([{ id: 'm2' }, { id: 'm2' }])
    expect(sent).toEqual(['ana', 'Ana'])
    const other = await alike()
    await expect(other.again('Ana')).rejects.toMatchObject({ code: 'REPLAY_UNSAFE' })
    await other.decide({ outcome: 'fail' })
    await expect(other.again('Ana')).rejects.toMatchObject({ code: 'CALL_FAILED' })
    expect(other.sent).toEqual(['ana'])
  })

  test('a receipt of the same words answers by itself, with a row of its own', async () => {
    const { sent, cf, again, record, records } = await alike()
    expect([await again('ana', record), await again('ana')]).toEqual([{ id: 'm1' }, { id: 'm1' }])
    expect(sent).toEqual(['ana'])
    expect(await records('edited')).toMatchObject([{ status: 'committed', attempt: 0 }])
    expect((await cf.inbox.list()).items).toEqual([])
    expect(await findings(cf)).toEqual([])
  })
})
