// What only shows with real processes: puts at once, and puts that are killed.
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'tsdown'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { collectOrphans } from '../../src/blob/collect.ts'
import { openFiles } from '../../src/blob/files.ts'
import { pause, systemClock } from '../../src/clock.ts'
import { sha256 } from '../../src/model/json/canonical.ts'
import { manualClock } from '../../src/testing/manual-clock.ts'
import { all, filesIn, large, newFolder } from './bench.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const bytes = 1_000_000
let built = ''
beforeAll(async () => {
  const cache = join(root, 'node_modules', '.cache')
  await mkdir(cache, { recursive: true })
  built = await mkdtemp(join(cache, 'blob-child-'))
  const entry = { files: 'src/blob/files.ts', clock: 'src/clock.ts' }
  const options = { dts: false, clean: false, logLevel: 'silent', platform: 'node' } as const
  await build({ config: false, cwd: root, entry, outDir: built, ...options })
})
afterAll(() => rm(built, { recursive: true, force: true }))

/** Puts texts of 1 MB, named on the command line or without end, and says what is durable. */
const program = `
  const [built, dir, go, ...marks] = process.argv.slice(1)
  const { existsSync, readdirSync } = await import('node:fs')
  const name = (start) => built + readdirSync(new URL(built)).find((n) => n.startsWith(start))
  const { openFiles } = await import(name('files.'))
  const { systemClock: clock } = await import(name('clock.'))
  const blobs = openFiles({ dir, clock })
  console.log('ready')
  while (!existsSync(go)) await new Promise(setImmediate)
  const put = async (mark) => console.log(await blobs.put(mark.padEnd(${bytes}, '.')))
  for (const mark of marks) await put(mark)
  for (let i = 0; marks.length === 0; i++) await put(process.pid + ' ' + i)
`

interface Child {
  readonly process: ChildProcess
  readonly said: string[]
  readonly ready: Promise<unknown>
  readonly ended: Promise<unknown>
}

function start(dir: string, go: string, ...marks: string[]): Child {
  const args = ['--input-type=module', '-e', program, `${pathToFileURL(built).href}/`]
  const child = spawn(process.execPath, [...args, dir, go, ...marks], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const said: string[] = []
  let rest = ''
  child.stdout.on('data', (part) => {
    const lines = (rest + String(part)).split('\n')
    rest = lines.pop() ?? ''
    said.push(...lines)
  })
  const ready = new Promise((resolve) => child.stdout.once('data', resolve))
  return {
    process: child,
    said,
    ready,
    ended: new Promise((resolve) => child.on('close', resolve)),
  }
}

test('B7 several processes put the same texts at once: one whole blob each', async () => {
  const folder = await newFolder()
  const [dir, go] = [join(folder, 'blobs'), join(folder, 'go')]
  const marks = ['a', 'b', 'c']
  const children = [1, 2, 3].map(() => start(dir, go, ...marks))
  await Promise.all(children.map((child) => child.ready))
  await writeFile(go, '')
  expect(await Promise.all(children.map((child) => child.ended))).toEqual([0, 0, 0])
  const digests = marks.map((mark) => sha256(large(mark, bytes)))
  for (const child of children) expect(child.said).toEqual(['ready', ...digests])
  expect((await filesIn(dir)).sort()).toEqual([...digests].sort())
  const blobs = openFiles({ dir, clock: systemClock })
  for (const mark of marks) {
    expect(await blobs.get(sha256(large(mark, bytes)))).toBe(large(mark, bytes))
  }
})

test('B7 20 kills at random moments leave no half blob, and lose none that was put', async () => {
  const folder = await newFolder()
  const [dir, go] = [join(folder, 'blobs'), join(folder, 'go')]
  await writeFile(go, '')
  const promised: string[] = []
  for (let kill = 0; kill < 20; kill++) {
    const child = start(dir, go)
    await child.ready
    // Now and then when one is durable, however slow the disk.
    while (kill % 4 === 0 && child.said.length < 2) await pause(systemClock, 1)
    await pause(systemClock, systemClock.random() * 60)
    child.process.kill('SIGKILL')
    await child.ended
    promised.push(...child.said.filter((line) => line !== 'ready'))
  }
  expect(promised.length).toBeGreaterThan(0)
  const blobs = openFiles({ dir, clock: systemClock })
  const found = (await all(blobs.list())).map((entry) => entry.digest)
  expect(promised.filter((digest) => !found.includes(digest))).toEqual([])
  for (const digest of found) {
    const text = await readFile(join(dir, digest.slice(0, 2), digest), 'utf8')
    expect(sha256(text)).toBe(digest)
    expect(await blobs.get(digest)).toBe(text)
  }
  const later = manualClock(systemClock.now() + 7_200_000)
  const inUse = async (digests: readonly string[]) => new Set(digests)
  const sum = await collectOrphans({ blobs: openFiles({ dir, clock: later }), inUse, clock: later })
  expect(sum).toMatchObject({ removed: 0, kept: found.length })
  expect((await filesIn(dir)).sort()).toEqual(found.sort())
}, 300_000)
