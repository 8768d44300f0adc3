import type { Notice } from '../../../model/run/records.ts'
import type { NewDocument } from '../../../store/store.ts'
import { type Bench, item, namespace, newRun, ref, type Subject } from '../fixtures.ts'

const dayMs = 24 * 3_600_000
const keep = { pureMs: dayMs, keyedMs: 14 * dayMs, unsafeMs: 90 * dayMs }

function document(id = 'd1', more: Partial<NewDocument> = {}): NewDocument {
  const times = { dueAt: null, expiresAt: null }
  return { kind: 'token', namespace, id, bodyJson: '{"n":1}', ...times, ...more }
}

function notice(noticeId = 'n1', more: Partial<Notice> = {}): Notice {
  const about = { kind: 'doubt', itemId: 'i1', at: 5_000, dataJson: '{"title":"?"}' } as const
  return { ...ref(), noticeId, ...about, ...more }
}

const find = ({ store }: Subject, id = 'd1') => store.getDocument('token', namespace, id)

export function documentConcern(bench: Bench): void {
  bench.describe('documents and notices', () => {
    versions(bench)
    expiry(bench.of('retention'))
    lists(bench)
    notices(bench)
    taking(bench)
    untold(bench.of('retention'))
  })
}

function versions({ on, expect }: Bench): void {
  on('M2 what is concealed can be read again by this store, and by nobody else', async (s) => {
    const { store } = s
    const hidden = store.conceal('whsec_very secret')
    expect(hidden.includes('very')).toBe(false)
    expect(store.conceal('whsec_very secret') === hidden).toBe(false)
    expect(store.reveal(hidden)).toBe('whsec_very secret')
    const last = hidden.at(-6) === 'A' ? 'B' : 'A'
    for (const altered of [`${hidden.slice(0, -6)}${last}${hidden.slice(-5)}`, 'k:AAAA', '', ':']) {
      expect(store.reveal(altered)).toBe(null)
    }
  })

  on('M2 a document is put, read, changed by its version, and deleted', async (s) => {
    expect(await find(s)).toBe(null)
    expect(await s.store.putDocument(document(), null)).toBe(true)
    const made = await find(s)
    expect(made).toMatchObject({ ...document(), version: 1 })
    expect(made?.createdAt).toBe(made?.updatedAt)
    s.clock.advance(10)
    expect(await s.store.putDocument(document('d1', { bodyJson: '2' }), 1)).toBe(true)
    expect(await find(s)).toMatchObject({ version: 2, bodyJson: '2', createdAt: made?.createdAt })
    expect(((await find(s))?.updatedAt ?? 0) > (made?.updatedAt ?? 0)).toBe(true)
    expect(await s.store.deleteDocument('token', namespace, 'd1', 1)).toBe(false)
    expect(await s.store.deleteDocument('token', namespace, 'd1', 2)).toBe(true)
    expect(await s.store.deleteDocument('token', namespace, 'd1')).toBe(false)
    expect(await find(s)).toBe(null)
  })

  on('M2 of two who put the same version one wins', async (s) => {
    const first = await Promise.all(
      ['1', '2', '3'].map((bodyJson) => s.store.putDocument(document('d1', { bodyJson }), null)),
    )
    expect(first.filter(Boolean).length).toBe(1)
    const second = await Promise.all([1, 1, 1].map((n) => s.store.putDocument(document(), n)))
    expect(second.filter(Boolean).length).toBe(1)
    expect(await s.store.putDocument(document(), null)).toBe(false)
    expect(await s.store.putDocument(document(), 7)).toBe(false)
    expect(await s.store.putDocument(document('none'), 1)).toBe(false)
  })

  on('M3 kind, namespace and id tell documents apart', async (s) => {
    const all = [document(), document('d2'), document('d1', { kind: 'session' })]
    for (const one of [...all, document('d1', { namespace: 'other' })]) {
      expect(await s.store.putDocument(one, null)).toBe(true)
    }
    await s.store.deleteDocument('token', namespace, 'd1')
    expect(await find(s)).toBe(null)
    expect((await s.store.getDocument('token', 'other', 'd1'))?.namespace).toBe('other')
    expect((await s.store.getDocument('session', namespace, 'd1'))?.kind).toBe('session')
  })
}

function expiry({ on, expect }: Bench): void {
  on('M2 an expired document is as if it were not there, and retention takes it', async (s) => {
    const expiresAt = s.store.clock.now() + 1_000
    await s.store.putDocument(document('d1', { expiresAt }), null)
    await s.store.putDocument(document('d2'), null)
    expect((await find(s))?.expiresAt).toBe(expiresAt)
    s.clock.advance(2_000)
    expect(await find(s)).toBe(null)
    expect(await s.store.putDocument(document(), 1)).toBe(false)
    expect(await s.store.deleteDocument('token', namespace, 'd1')).toBe(false)
    expect((await s.store.listDocuments({ kind: 'token' })).items.length).toBe(1)
    expect(await s.store.putDocument(document('d1', { bodyJson: '"new"' }), null)).toBe(true)
    expect(await find(s)).toMatchObject({ version: 1, bodyJson: '"new"' })
    await s.store.putDocument(document('d3', { expiresAt }), null)
    await s.store.retain(keep, 10)
    expect((await s.store.listDocuments({ kind: 'token' })).items.length).toBe(2)
  })
}

function lists({ on, expect }: Bench): void {
  on('M1 documents are listed by kind and namespace, in pages', async (s) => {
    for (const id of ['a', 'b', 'c']) await s.store.putDocument(document(id), null)
    await s.store.putDocument(document('d', { namespace: 'other' }), null)
    await s.store.putDocument(document('e', { kind: 'session' }), null)
    const first = await s.store.listDocuments({ kind: 'token', namespace, countMax: 2 })
    expect(first.items.map(({ id }) => id)).toEqual(['a', 'b'])
    const cursor = first.next ?? ''
    const rest = await s.store.listDocuments({ kind: 'token', namespace, countMax: 2, cursor })
    expect([rest.items.map(({ id }) => id), rest.next]).toEqual([['c'], null])
    const all = await s.store.listDocuments({ kind: 'token' })
    expect(all.items.map(({ id }) => id)).toEqual(['a', 'b', 'c', 'd'])
  })

  on('E7 documents that are due are found, the longest first', async (s) => {
    const now = s.store.clock.now()
    const due = { late: -5, later: -1, early: 60_000 }
    for (const [id, ms] of Object.entries(due)) {
      await s.store.putDocument(document(id, { dueAt: now + ms }), null)
    }
    await s.store.putDocument(document('never'), null)
    const found = await s.store.listDocuments({ kind: 'token', dueBefore: now })
    expect(found.items.map(({ id }) => id)).toEqual(['late', 'later'])
    const one = await s.store.listDocuments({ kind: 'token', dueBefore: now, countMax: 1 })
    expect([one.items.length, one.next]).toEqual([1, null])
  })
}

function notices({ on, expect }: Bench): void {
  on('E5 a notice is written with what it is about, or not at all', async (s) => {
    const run = await s.held()
    const stale = { fence: run.fence - 1 }
    expect(await s.commit(run, { items: [item()], notices: [notice()] }, stale)).toBe('stale_fence')
    expect(await s.store.takeNotices('p', 10, 1_000)).toEqual([])
    expect(await s.commit(run, { items: [item()], notices: [notice()] })).toBe('done')
    expect(await s.store.takeNotices('p', 10, 1_000)).toEqual([notice()])
  })

  on('E5 a client writes notices too; the same one twice is one', async (s) => {
    await s.store.start(newRun())
    await s.amend(ref(), { notices: [notice(), notice('n2', { itemId: null })] })
    await s.amend(ref(), { notices: [notice('n1', { dataJson: '"other"' })] })
    const found = await s.store.takeNotices('p', 10, 1_000)
    expect(found).toEqual([notice(), notice('n2', { itemId: null })])
    const foreign = notice('n3', { runId: 'r2' })
    await expect(s.amend(ref(), { notices: [foreign] })).rejects.toMatchObject({
      code: 'WRITE_REFUSED',
    })
  })

  on('E5 commits of several runs in one batch keep their own notices', async (s) => {
    const [a, b] = [await s.held('r1'), await s.held('r2')]
    const of = (runId: string) => ({ notices: [notice(`n-${runId}`, { runId })] })
    const head = { namespace, workerId: 'w_1', fence: 1 }
    const results = await s.store.commit([
      { ...head, runId: a.runId, commitId: '1.1', changes: of('r1') },
      { ...head, runId: b.runId, commitId: '1.1', changes: of('r2'), fence: 0 },
    ])
    expect(results).toEqual(['done', 'stale_fence'])
    const taken = await s.store.takeNotices('p', 10, 1_000)
    expect(taken.map(({ noticeId }) => noticeId)).toEqual(['n-r1'])
  })
}

function taking({ on, expect }: Bench): void {
  on('E5 a notice is one taker’s until its time is over, and gone when it has ended', async (s) => {
    await s.store.start(newRun())
    await s.amend(ref(), { notices: ['a', 'b', 'c'].map((id) => notice(id)) })
    const ids = async (taker: string, max = 10) =>
      (await s.store.takeNotices(taker, max, 1_000)).map(({ noticeId }) => noticeId)
    expect(await ids('p1', 2)).toEqual(['a', 'b'])
    expect(await ids('p2')).toEqual(['c'])
    expect(await ids('p1')).toEqual([])
    await s.store.endNotice(namespace, 'a')
    s.clock.advance(1_000)
    expect(await ids('p2')).toEqual(['b', 'c'])
    await s.store.endNotice('other', 'b')
    await s.store.endNotice(namespace, 'c')
    s.clock.advance(1_000)
    expect(await ids('p1')).toEqual(['b'])
  })
}

function untold({ on, expect }: Bench): void {
  on('E5 news that nobody was told of for a week is taken by retention', async (s) => {
    await s.store.start(newRun())
    const now = s.store.clock.now()
    const old = notice('old', { at: now - 7 * dayMs })
    await s.amend(ref(), { notices: [old, notice('young', { at: now - 6 * dayMs })] })
    await s.store.retain(keep, 10)
    const left = await s.store.takeNotices('p', 10, 1_000)
    expect(left.map(({ noticeId }) => noticeId)).toEqual(['young'])
  })
}
