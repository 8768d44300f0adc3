import { rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import type { BlobStore } from '../../src/blob/blob.ts'
import { collectOrphans } from '../../src/blob/collect.ts'
import { openFiles } from '../../src/blob/files.ts'
import { readOutput, type StoreWithBlobs, withBlobs } from '../../src/blob/with-blobs.ts'
import { CounterfoilError, isCounterfoilError } from '../../src/model/errors.ts'
import { sha256 } from '../../src/model/json/canonical.ts'
import * as limits from '../../src/model/limits.ts'
import { bare, type Checkpoint, type Run } from '../../src/model/run/records.ts'
import { openMemory } from '../../src/store/memory/index.ts'
import type { Changes, Commit, Loaded, Store } from '../../src/store/store.ts'
import { type ManualClock, manualClock } from '../../src/testing/manual-clock.ts'
import * as make from '../../src/testing/store/fixtures.ts'
import { filesIn, large, newFolder, refuse, spied } from './bench.ts'

const bytesMin = limits.blobBytesMin
const hourMs = 3_600_000

let folder = ''
let dir = ''
let clock: ManualClock
let inner: Store
let blobs: BlobStore
let store: StoreWithBlobs
let run: Run
let commits = 0
beforeEach(async () => {
  folder = await newFolder()
  dir = join(folder, 'blobs')
  clock = manualClock()
  inner = openMemory({ clock })
  blobs = openFiles({ dir, clock })
  store = withBlobs(inner, blobs, { bytesMin })
  run = await held()
})

async function held(): Promise<Run> {
  const row = { workerId: make.worker, pid: 1, host: 'here', bootId: 'b', startedAt: 0 }
  await inner.register({ ...row, socketPath: null, socketInode: null }, 60_000)
  await inner.start(make.newRun())
  const request = { workerId: make.worker, graphs: make.graphs, countMax: 1 }
  const [claimed] = await inner.claim(request)
  if (claimed === undefined) throw new Error('nothing claimed')
  return claimed
}

const json = (mark: string, bytes?: number) => JSON.stringify(large(mark, bytes))
const one = (changes: Changes): Commit => make.commitOf(run, `c${++commits}`, changes)
const commit = (changes: Changes, to: Store = store) => to.commit([one(changes)])
const pathOf = (digest: string) => join(dir, digest.slice(0, 2), digest)
const blobsNow = () => filesIn(dir).catch(() => [])
const receipt = (resultJson: string, nth = 1) => make.settled(make.record(nth), { resultJson })

/** As the committer does it: what may pass is tried again. */
async function again<T>(work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!isCounterfoilError(error) || !error.retryable) throw error
    }
  }
}

async function loaded(from: Store = store): Promise<Loaded> {
  const found = await from.load(run)
  if (found === null) throw new Error('no run')
  return found
}

describe('on the way in', () => {
  test('B7 a large result is a blob, and its row holds the digest', async () => {
    const text = json('a')
    expect(await commit({ records: [receipt(text)] })).toEqual(['done'])
    const [row] = (await loaded(inner)).records
    expect(row).toMatchObject({ resultJson: null, resultDigest: sha256(text), verifies: true })
    expect(await blobs.get(sha256(text))).toBe(text)
    expect((await loaded()).records).toEqual([{ ...receipt(text), verifies: true }])
  })

  test.each([
    ['ascii', (bytes: number) => 'a'.repeat(bytes)],
    ['three bytes a character', (bytes: number) => 'a'.repeat(bytes % 3) + '€'.repeat(bytes / 3)],
  ])('B7 the threshold counts bytes of UTF-8: %s', async (_, text) => {
    await commit({ records: [receipt(text(bytesMin))] })
    expect(await blobsNow()).toEqual([])
    await commit({ records: [receipt(text(bytesMin + 1), 2)] })
    expect(await blobsNow()).toEqual([sha256(text(bytesMin + 1))])
    const found = (await loaded()).records.map((row) => row.resultJson)
    expect(found).toEqual([text(bytesMin), text(bytesMin + 1)])
  })

  test('B7 evidence, checkpoint and output too, each text once', async () => {
    const [result, body, output] = [json('r'), json('b'), json('o')]
    await commit({ records: [make.record()], attempts: [make.attempt()] })
    await commit({
      records: [receipt(result, 2)],
      evidence: [make.evidence(1, { resultJson: result })],
      checkpoints: [make.checkpoint('r1', { visit: 2, baseVisit: 2, bodyJson: body })],
      run: { state: 'completed', visit: 2, outputJson: output, release: true },
    })
    expect((await blobsNow()).sort()).toEqual(
      [result, body, output].map((one) => sha256(one)).sort(),
    )
    const [evidence] = (await inner.listEvidence(run)) ?? []
    expect(evidence).toMatchObject({ resultJson: null, resultDigest: sha256(result) })
    const [checkpoint] = await inner.loadCheckpoints(run, 0, 2)
    expect(checkpoint).toMatchObject({ bodyJson: '', bodyDigest: sha256(body) })
    const row = await inner.getRun(run)
    expect(row).toMatchObject({ outputJson: null, outputDigest: sha256(output) })
    expect(JSON.stringify(row).length).toBeLessThan(2_000)
    expect((await store.loadCheckpoints(run, 0, 2))[0]).toMatchObject({ bodyJson: body })
    expect((await loaded()).checkpoints[0]).toMatchObject({ bodyJson: body, bodyDigest: null })
  })

  test('B7 a large input is a blob from the start', async () => {
    const bodyJson = json('input')
    const made = { ...make.newRun('r2'), checkpoint: make.checkpoint('r2', { bodyJson }) }
    expect(await store.start(made)).toMatchObject({ created: true })
    expect(await blobsNow()).toEqual([sha256(bodyJson)])
    const [body] = await store.loadCheckpoints(make.ref('r2'), 0, 1)
    expect(body).toEqual(made.checkpoint)
    expect(await store.start(made)).toMatchObject({ created: false })
    expect(await store.start({ ...make.newRun('r3'), checkpoint: null })).toMatchObject({
      created: true,
    })
  })

  test('B7 the large input of a child is a blob with the intent that asks for it', async () => {
    const bodyJson = json('input of a child')
    const made = { ...make.child(), checkpoint: make.checkpoint('kid', { bodyJson }) }
    await commit({ records: [make.record()], attempts: [make.attempt()], children: [made] })
    expect(await blobsNow()).toEqual([sha256(bodyJson)])
    const [row] = await inner.loadCheckpoints(make.ref('kid'), 0, 1)
    expect(row).toMatchObject({ bodyJson: '', bodyDigest: sha256(bodyJson) })
    expect((await store.load(make.ref('kid')))?.checkpoints).toEqual([made.checkpoint])
  })

  test.each(['holder', 'client'])(
    'B7 the large output of a child that a %s ends is told to its parent by digest',
    async (by) => {
      await commit({
        ...{ records: [make.record()], attempts: [make.attempt()], children: [make.child()] },
        run: { state: 'waiting_tool', release: true },
      })
      const request = { workerId: make.worker, graphs: make.graphs, countMax: 1 }
      const [kid] = await inner.claim(request)
      if (kid === undefined) throw new Error('nothing claimed')
      const outputJson = json('output of a child')
      const end = { run: { state: 'completed', outputJson, release: true } } as const
      if (by === 'holder') await store.commit([make.commitOf(kid, 'k1', end)])
      else await store.amend(kid, 'client', () => ({ changes: end, value: null }))
      const [news] = (await loaded(inner)).evidence
      const said = JSON.parse(news?.resultJson ?? 'null')
      expect(said).toMatchObject({ output: null, outputDigest: sha256(outputJson) })
      expect(news?.resultJson?.length).toBeLessThan(1_000)
      const ended = await store.getRun(kid)
      expect(ended && (await store.readOutput(ended))).toBe(outputJson)
      expect([...(await store.blobsInUse([sha256(outputJson)]))]).toEqual([sha256(outputJson)])
    },
  )

  test('L5 what the store says of itself, and what it does not write, goes through', async () => {
    expect(store).toMatchObject({ clock, local: true, renewal: null })
    const key = { namespace: make.namespace, tool: 'look', inputHash: 'h1' }
    expect(await store.takeShare(key, make.worker, 1_000)).toEqual({ do: 'make' })
    expect(await store.wakeDue(1)).toEqual({ woken: 0, lagMs: 0, nextAt: null })
  })

  test('B7 small values go through as they are, at once', async () => {
    const answer = Promise.resolve<never[]>([])
    const seen: unknown[] = []
    const fake = {
      ...inner,
      commit: (batch: readonly Commit[]) => {
        seen.push(batch)
        return answer
      },
    }
    const batch = [one({ records: [receipt('1')], evidence: [make.evidence()] })]
    expect(withBlobs(fake, blobs, { bytesMin }).commit(batch)).toBe(answer)
    expect(seen[0]).toBe(batch)
    expect(await blobsNow()).toEqual([])
  })

  test('B7 an output that is small again leaves no digest behind', async () => {
    await commit({ run: { outputJson: json('o') } })
    await commit({ run: { outputJson: '1' } })
    expect(await store.getRun(run)).toMatchObject({ outputJson: '1', outputDigest: null })
    await commit({ run: { outputJson: json('o') } })
    await commit({ run: { progress: true } })
    expect((await store.getRun(run))?.outputDigest).toBe(sha256(json('o')))
    await commit({ run: { outputJson: null } })
    expect(await store.getRun(run)).toMatchObject({ outputJson: null, outputDigest: null })
  })
})

describe('durability', () => {
  test('B7 blobs and their names are synced before the store is asked', async () => {
    const log: string[] = []
    const fake: Store = {
      ...inner,
      commit: async (batch) => {
        log.push('commit')
        return inner.commit(batch)
      },
    }
    const spy = openFiles({ dir, clock, disk: spied(folder, log) })
    const texts = [json('a'), json('b'), json('c')]
    const records = texts.map((text, i) => receipt(text, i + 1))
    await withBlobs(fake, spy, { bytesMin }).commit([one({ records })])
    const at = (what: string) => log.flatMap((line, i) => (line === what ? [i] : []))
    const commitAt = log.indexOf('commit')
    for (const step of ['sync digest.draft', 'rename digest.draft digest', 'sync blobs/xx']) {
      expect(at(step), step).toHaveLength(3)
      for (const i of at(step)) expect(i, step).toBeLessThan(commitAt)
    }
  })

  test.each(['writeFile', 'sync digest.draft', 'rename', 'sync blobs/xx'])(
    'B7 a disk that is full at %s: nothing is written, and the same commit succeeds later',
    async (step) => {
      let full = true
      const disk = spied(folder, [], (what) => {
        if (full && what.startsWith(step)) refuse('ENOSPC')
      })
      const some = withBlobs(inner, openFiles({ dir, clock, disk }), { bytesMin })
      const batch = [one({ records: [receipt(json('a'))], run: { progress: true } })]
      const before = await loaded(inner)
      await expect(some.commit(batch)).rejects.toMatchObject({
        code: 'STORE_FULL',
        retryable: true,
      })
      expect(await loaded(inner)).toEqual(before)
      full = false
      expect(await some.commit(batch)).toEqual(['done'])
      expect((await loaded()).records[0]?.resultJson).toBe(json('a'))
    },
  )

  test('I4 the same commit again is no second write', async () => {
    const batch = [one({ records: [receipt(json('a'))] })]
    expect(await store.commit(batch)).toEqual(['done'])
    const before = await loaded(inner)
    expect(await store.commit(batch)).toEqual(['done'])
    expect(await loaded(inner)).toEqual(before)
    expect(await blobsNow()).toHaveLength(1)
  })

  test('B7 a process stopped between put and commit puts again what was collected', async () => {
    const text = json('a')
    const stopped: Store = {
      ...inner,
      commit: async (batch) => {
        clock.advance(2 * hourMs)
        const sum = await collectOrphans({ blobs, inUse: (d) => inner.blobsInUse(d), clock })
        expect(sum.removed).toBe(1)
        return inner.commit(batch)
      },
    }
    await commit({ records: [receipt(text)] }, withBlobs(stopped, blobs, { bytesMin }))
    expect((await loaded()).records[0]).toMatchObject({ resultJson: text, verifies: true })
  })

  test('B7 many processes put, commit and collect at once, and no row loses its blob', async () => {
    const texts = ['a', 'b', 'c', 'd'].map((mark) => json(mark, 70_000))
    let running = true
    const collecting = [1, 2].map(async () => {
      const own = openFiles({ dir, clock })
      let removed = 0
      // No age at all: the worst that can be.
      const options = { inUse: (d: readonly string[]) => inner.blobsInUse(d), clock, minAgeMs: 0 }
      while (running) removed += (await collectOrphans({ blobs: own, ...options })).removed
      return removed
    })
    const writing = [1, 2, 3].map(async (writer) => {
      const own = openFiles({ dir, clock })
      const some = withBlobs(inner, own, { bytesMin })
      for (let i = 0; i < 12; i++) {
        for (const text of texts) await again(() => own.put(`${text} that nobody commits`))
        const resultJson = `${texts[i % 4]} ${i >> 2}`
        const batch = [one({ records: [receipt(resultJson, writer * 100 + i)] })]
        await again(() => some.commit(batch))
      }
    })
    await Promise.all(writing)
    running = false
    const removed = await Promise.all(collecting)
    expect(Math.max(...removed)).toBeGreaterThan(0)
    const { records } = await loaded()
    expect(records).toHaveLength(36)
    expect(records.filter((row) => !row.verifies || row.resultJson === null)).toEqual([])
  })
})

describe('on the way out', () => {
  const damages: [string, (path: string) => Promise<void>][] = [
    ['missing', (path) => rm(path)],
    ['cut short', (path) => truncate(path, 70_000)],
    ['exchanged', (path) => writeFile(path, json('b'))],
  ]

  test.each(damages)('B7 a record whose blob is %s does not verify', async (_, damage) => {
    const [text, other] = [json('a'), json('c')]
    await commit({ records: [receipt(text), receipt(other, 2)] })
    await damage(pathOf(sha256(text)))
    const [first, second] = (await loaded()).records
    expect(first).toMatchObject({ verifies: false, resultJson: null, resultDigest: sha256(text) })
    expect(second).toMatchObject({ verifies: true, resultJson: other })
  })

  test.each(damages)('B7 evidence whose blob is %s does not verify', async (_, damage) => {
    const text = json('a')
    await commit({ records: [make.record()], attempts: [make.attempt()] })
    const evidence = [make.evidence(1, { resultJson: text })]
    await store.amend(run, 'evidence', () => ({ changes: { evidence }, value: null }))
    await damage(pathOf(sha256(text)))
    expect((await loaded()).evidence[0]).toMatchObject({ verifies: false, resultJson: null })
  })

  test.each(damages)('B7 a checkpoint whose blob is %s has no body', async (_, damage) => {
    const bodyJson = json('a')
    const row: Checkpoint = make.checkpoint('r1', { visit: 2, baseVisit: 2, bodyJson })
    await commit({ checkpoints: [row], run: { visit: 2 } })
    await damage(pathOf(sha256(bodyJson)))
    expect((await loaded()).checkpoints[0]).toMatchObject({ bodyJson: '' })
    expect(await store.loadCheckpoints(run, 0, 2)).toMatchObject([{ bodyJson: '' }])
  })

  test.each(damages)('B7 an output whose blob is %s: polling goes on', async (_, damage) => {
    const output = json('o')
    await commit({ run: { state: 'completed', outputJson: output, release: true } })
    const ended = await store.getRun(run)
    if (ended === null) throw new Error('no run')
    expect(await store.readOutput(ended)).toBe(output)
    await damage(pathOf(sha256(output)))
    expect(await store.getRun(run)).toEqual(ended)
    await expect(store.readOutput(ended)).rejects.toMatchObject({
      code: expect.stringMatching(/^BLOB_(MISSING|DAMAGED)$/),
    })
    expect(await readOutput(blobs, { ...ended, outputJson: '1', outputDigest: null })).toBe('1')
  })

  test('B7 a digest that is none does not verify, and leads nowhere', async () => {
    const bad = '../../../etc/passwd'
    const row = { ...receipt(json('a')), resultJson: null, resultDigest: bad }
    await commit({ records: [row] }, inner)
    expect((await loaded()).records[0]).toMatchObject({ verifies: false, resultJson: null })
  })

  test('B7 a disk that fails now is an error now, and no doubt', async () => {
    await commit({ records: [receipt(json('a'))] })
    const get = async () => {
      throw new CounterfoilError('STORE_IO', 'the disk is away', { retryable: true })
    }
    const some = withBlobs(inner, { ...blobs, get }, { bytesMin })
    await expect(some.load(run)).rejects.toMatchObject({ code: 'STORE_IO' })
  })

  test('B7 lists read no blobs', async () => {
    const text = json('a')
    await commit({ records: [receipt(text)], run: { outputJson: json('o') } })
    const get = async () => {
      throw new Error('read')
    }
    const some = withBlobs(inner, { ...blobs, get }, { bytesMin })
    const { items } = await some.listRecords(run, {})
    expect(items[0]).toMatchObject({ resultJson: null, resultDigest: sha256(text) })
    expect(items[0]?.verifies).toBe(true)
    expect((await some.getRun(run))?.outputDigest).toBe(sha256(json('o')))
    expect((await some.listRuns({ namespace: make.namespace })).items).toHaveLength(1)
  })

  test('L4 closing the store closes the blobs', async () => {
    const closed: string[] = []
    const close = async () => void closed.push('blobs')
    await withBlobs(inner, { ...blobs, close }, { bytesMin }).close()
    expect(closed).toEqual(['blobs'])
    await expect(inner.getRun(run)).rejects.toMatchObject({ code: 'STORE_CLOSED' })
  })
})

describe('put again', () => {
  const text = json('late')
  beforeEach(async () => {
    await commit({ records: [make.record()], attempts: [make.attempt()] })
  })

  const report = (to: Store) =>
    to.amend(run, 'evidence', () => ({
      changes: { evidence: [make.evidence(1, { resultJson: text })] },
      value: null,
    }))

  test.each([
    ['as it was', bytesMin, bytesMin],
    ['written when the threshold was higher', 1_000_000, bytesMin],
    ['written when the threshold was lower', bytesMin, 1_000_000],
  ])('B7 evidence gets its seq and is else the same row: %s', async (_, then, now) => {
    await report(withBlobs(inner, blobs, { bytesMin: then }))
    const before = await inner.listEvidence(run)
    const present = withBlobs(inner, blobs, { bytesMin: now })
    const [row] = (await loaded(present)).evidence
    if (row === undefined) throw new Error('no evidence')
    expect(row).toMatchObject({ resultJson: text, verifies: true })
    const again = { ...bare(row), seq: 7 }
    const { resultJson } = row
    const record = make.settled(make.record(), { resultJson, seq: 7 })
    await commit({ evidence: [again], records: [record] }, present)
    expect(await inner.listEvidence(run)).toEqual(before.map((old) => ({ ...old, seq: 7 })))
    expect((await loaded(present)).records[0]?.resultJson).toBe(text)
  })

  test.each([bytesMin, 1_000_000])('B7 nor does amend change its form (%i)', async (then) => {
    await report(withBlobs(inner, blobs, { bytesMin: then }))
    const before = await inner.listEvidence(run)
    const again = await store.amend(run, 'evidence', (now) => {
      const evidence = now.evidence.map((row) => ({ ...bare(row), seq: 3 }))
      return { changes: { evidence }, value: now.evidence[0]?.resultDigest }
    })
    expect(again).toBe(then === bytesMin ? sha256(text) : null)
    expect(await inner.listEvidence(run)).toEqual(before.map((old) => ({ ...old, seq: 3 })))
  })
})

describe('amend', () => {
  const change = (texts: string[]) => ({
    changes: {
      evidence: texts.map((resultJson, i) => make.evidence(i + 1, { resultJson })),
      events: [make.event('late')],
    },
    value: texts.length,
  })

  test('B7 puts large values before the transaction that writes them', async () => {
    const log: string[] = []
    const spy = openFiles({ dir, clock, disk: spied(folder, log) })
    const text = json('a')
    const value = await withBlobs(inner, spy, { bytesMin }).amend(run, 'evidence', () => {
      log.push('change')
      return change([text, json('b')])
    })
    expect(value).toBe(2)
    const [first, last] = [log.indexOf('change'), log.lastIndexOf('change')]
    expect(log.filter((line) => line === 'change')).toHaveLength(2)
    const synced = log.flatMap((line, i) => (line === 'sync blobs/xx' ? [i] : []))
    expect(synced.filter((i) => i > first && i < last)).toHaveLength(2)
    const { items } = await inner.listEvents(run, {})
    expect(items.filter((row) => row.kind === 'late')).toHaveLength(1)
    const digests = (await inner.listEvidence(run)).map((row) => row.resultDigest)
    expect(digests).toEqual([text, json('b')].map((one) => sha256(one)))
  })

  test('B7 small values: one round, and the value of the change', async () => {
    let rounds = 0
    const value = await store.amend(run, 'client', () => {
      rounds++
      return { changes: { events: [make.event('x')] }, value: 7 }
    })
    expect([value, rounds, await blobsNow()]).toEqual([7, 1, []])
    expect(await store.amend(run, 'client', () => ({ changes: null, value: 8 }))).toBe(8)
  })

  test('B7 what the run says meanwhile is put too; what never settles is refused', async () => {
    let round = 0
    const settling = () => change([json(`at most ${Math.min(++round, 4)}`)])
    expect(await store.amend(run, 'evidence', settling)).toBe(1)
    expect(round).toBe(5)
    expect((await inner.listEvidence(run))[0]?.resultDigest).toBe(sha256(json('at most 4')))
    const restless = store.amend(run, 'evidence', () => change([json(`round ${++round}`)]))
    await expect(restless).rejects.toMatchObject({ code: 'STORE_BUSY', retryable: true })
    expect(await inner.listEvidence(run)).toHaveLength(1)
  })

  test('B7 a throw of the change, and a disk that is full, write nothing', async () => {
    const broken = store.amend(run, 'evidence', () => {
      throw new TypeError('mine')
    })
    await expect(broken).rejects.toThrow('mine')
    const put = async () => refuse('ENOSPC')
    const some = withBlobs(inner, { ...blobs, put }, { bytesMin })
    await expect(some.amend(run, 'evidence', () => change([json('a')]))).rejects.toThrow('ENOSPC')
    expect((await loaded(inner)).evidence).toEqual([])
    expect((await inner.listEvents(run, {})).items.filter((row) => row.kind === 'late')).toEqual([])
  })

  test('B7 another visit is asked for as it was said', async () => {
    const asked: unknown[] = []
    const fake: Store = {
      ...inner,
      load: async (ref, at) => {
        asked.push(at)
        return inner.load(ref, at)
      },
      amend: async (ref, by, fn, at) => {
        asked.push(at)
        return inner.amend(ref, by, fn, at)
      },
    }
    const some = withBlobs(fake, blobs, { bytesMin })
    await some.load(run, { visit: 1 })
    await some.amend(run, 'client', () => ({ changes: null, value: null }), { visit: 2 })
    expect(asked).toEqual([{ visit: 1 }, { visit: 2 }])
  })
})
