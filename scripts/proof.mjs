// The fault programme (docs/proof.md):
//   npm run proof -- [--small | --full] [--only layer,…] [--seed N] [--resume FILE] [--jobs N]
//                    [--cases N] [--match TEXT] [--out FOLDER]
// Layers: syscalls, failpoints, kills, power, disk, postgres, late, sim, models, mutants, inputs.
// Every case is written to a file, synced, before the next: a programme that was stopped or killed
// goes on with --resume and that file; without --resume such a file is refused.
// `--cases`: at most so many of each layer, spread over all.
// `--match`: only cases whose names begin so, such as all of one load, or one that failed.
// Exit 1 if anything happened twice, was lost, or a control held.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { cpus } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const root = fileURLToPath(new URL('..', import.meta.url))
const text = /** @type {const} */ ({ type: 'string' })
const flag = /** @type {const} */ ({ type: 'boolean' })

/**
 * @param {string} name
 * @param {string} value
 */
function whole(name, value) {
  const isWhole = /^\d+$/.test(value) && Number.isSafeInteger(Number(value))
  if (isWhole && Number(value) >= 1) return Number(value)
  throw new Error(`--${name} is a whole number of at least 1`)
}

function read() {
  const options = {
    ...{ small: flag, full: flag, only: text, seed: text, resume: text, jobs: text },
    ...{ cases: text, match: text, out: text },
  }
  const { values } = parseArgs({ options })
  if (values.small && values.full) throw new Error('--small or --full')
  if (values.resume !== undefined && !existsSync(values.resume)) {
    throw new Error(`--resume: there is no file ${values.resume}`)
  }
  // Not 0: the simulator's seeds begin with it, and theirs begin with 1.
  const seed = whole('seed', values.seed ?? String(1 + Math.floor(Math.random() * 1e6)))
  const size = /** @type {'small' | 'full'} */ (values.full ? 'full' : 'small')
  const out = values.out ?? (values.resume ? dirname(values.resume) : 'proof')
  const most = values.cases === undefined ? {} : { casesMax: whole('cases', values.cases) }
  const folder = resolve(out)
  const progress = values.resume ? resolve(values.resume) : join(folder, `${size}-${seed}.jsonl`)
  if (values.resume === undefined && existsSync(progress)) {
    const ways = `go on with it (--resume ${progress}), or take another --seed or --out`
    throw new Error(`there is a programme in ${progress}: ${ways}`)
  }
  return {
    ...{ size, seed, folder, ...most, match: values.match ?? '' },
    jobs: whole('jobs', values.jobs ?? String(Math.max(1, Math.min(4, cpus().length)))),
    only: (values.only ?? '').split(',').filter(Boolean),
    progress,
  }
}

function commitOf() {
  const git = (/** @type {string[]} */ ...args) =>
    String(spawnSync('git', args, { cwd: root }).stdout ?? '').trim()
  const changed = git('status', '--porcelain', '--', 'src') === '' ? '' : ', with changes'
  return `${git('rev-parse', '--short', 'HEAD') || 'unknown'}${changed}`
}

function readOrLeave() {
  try {
    return read()
  } catch (error) {
    console.error(/** @type {Error} */ (error).message)
    process.exit(2)
  }
}

const { folder, ...asked } = readOrLeave()
mkdirSync(folder, { recursive: true })
const setup = spawnSync(process.execPath, ['scripts/setup.mjs'], { cwd: root, stdio: 'inherit' })
if (setup.status !== 0) process.exit(1)
// Only now: before it, nothing may be installed.
const { createServer } = await import('vite')
const server = await createServer({
  ...{ root, configFile: false, logLevel: 'error', appType: 'custom' },
  server: { middlewareMode: true, watch: null, hmr: false, ws: false },
  optimizeDeps: { noDiscovery: true },
})
const { main } = await server.ssrLoadModule('/test/proof/main.ts')
const base = asked.progress.replace(/\.jsonl$/, '')
const report = { json: `${base}.json`, markdown: `${base}.md`, commit: commitOf() }
const ok = await main({ ...asked, ...report }).catch((/** @type {Error} */ error) => {
  console.error(error.message)
  return false
})
await server.close()
process.exit(ok ? 0 : 1)
