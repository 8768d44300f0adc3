// Blobs under the MACs of a real store: a digest is signed like any other part of its row.
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { collectOrphans } from '../../src/blob/collect.ts'
import { openFiles } from '../../src/blob/files.ts'
import { withBlobs } from '../../src/blob/with-blobs.ts'
import { sha256 } from '../../src/model/json/canonical.ts'
import * as limits from '../../src/model/limits.ts'
import { bootId } from '../../src/store/boot.ts'
import { openSqlite } from '../../src/store/sqlite/index.ts'
import { manualClock } from '../../src/testing/manual-clock.ts'
import * as make from '../../src/testing/store/fixtures.ts'
import { filesIn, large, newFolder } from './bench.ts'

test('B7 large values survive a collection; B8 an exchanged digest does not verify', async () => {
  const folder = await newFolder()
  const [path, dir] = [join(folder, 'runs.db'), join(folder, 'runs.db.blobs')]
  const clock = manualClock()
  const blobs = openFiles({ dir, clock })
  const inner = await openSqlite({ path, clock })
  const store = withBlobs(inner, blobs, { bytesMin: limits.blobBytesMin })
  const worker = { workerId: make.worker, pid: 1, host: 'here', bootId: bootId(), startedAt: 0 }
  await store.register({ ...worker, socketPath: null, socketInode: null }, 60_000)
  await store.start(make.newRun())
  const request = { workerId: make.worker, graphs: make.graphs, countMax: 1 }
  const [run] = await store.claim(request)
  if (run === undefined) throw new Error('nothing claimed')
  const texts = [1, 2].map((nth) => JSON.stringify(large(`result ${nth}`)))
  const [body, output] = [JSON.stringify(large('body')), JSON.stringify(large('output'))]
  const records = texts.map((resultJson, i) => {
    return make.settled(make.record(i + 1), { resultJson })
  })
  const checkpoints = [make.checkpoint('r1', { visit: 2, baseVisit: 2, bodyJson: body })]
  const ending = { visit: 2, state: 'completed', outputJson: output, release: true } as const
  const changes = { records, checkpoints, run: ending }
  expect(await store.commit([make.commitOf(run, 'c1', changes)])).toEqual(['done'])

  await blobs.put('an orphan')
  clock.advance(7_200_000)
  const inUse = (digests: readonly string[]) => store.blobsInUse(digests)
  expect(await collectOrphans({ blobs, inUse, clock })).toMatchObject({ removed: 1, kept: 4 })
  const all = [...texts, body, output].map((text) => sha256(text))
  expect((await filesIn(dir)).sort()).toEqual(all.sort())

  const load = async () => (await store.load(run, { visit: 1 }))?.records
  expect(await load()).toEqual(records.map((row) => ({ ...row, verifies: true })))
  expect(await store.loadCheckpoints(run, 0, 2)).toEqual(checkpoints)
  const ended = await store.getRun(run)
  expect(ended && (await store.readOutput(ended))).toBe(output)

  const db = new Database(path)
  for (const { name } of db
    .prepare("select name from sqlite_master where type = 'trigger'")
    .all() as {
    name: string
  }[]) {
    db.exec(`drop trigger "${name}"`)
  }
  const exchange = 'update tool_call_results set result_digest = ? where result_digest = ?'
  db.prepare(exchange).run(sha256(texts[1] ?? ''), sha256(texts[0] ?? ''))
  db.close()
  expect(await load()).toMatchObject([{ verifies: false }, { verifies: true }])
  await store.close()
})
