// Layers that are programmes of their own: simulated schedules, protocol models, named mutants.
// Each writes what it found to a file of JSON.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Control, type Layer, nothing, type Outcome, type Size } from '../layer.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))

/** What such a programme says; whatever it leaves out is not known. */
interface Said {
  ok?: boolean
  cases?: number
  faults?: number
  effects?: number
  duplicates?: number
  lost?: number
  surfaced?: number
  falseSurfaced?: number
  evidence?: string
  bad?: unknown[]
  controls?: { name: string; failed: boolean; evidence?: string }[]
}

interface Programme {
  args: Record<Size, string[]>
  /** Programs that it needs. */
  needs?: readonly string[]
  seeded?: boolean
}

const isThere = (command: string) => spawnSync(command, ['-V']).error === undefined

function elsewhere(name: string, about: string, programme: Programme): Layer {
  const { args, needs = [], seeded = false } = programme
  const path = join(root, 'scripts', `${name}.mjs`)
  return {
    ...{ name, about },
    missing: () => {
      if (!existsSync(path)) return `no scripts/${name}.mjs`
      const lacks = needs.filter((command) => !isThere(command))
      return lacks.length === 0 ? null : `no ${lacks.join(', no ')}`
    },
    plan: async (size) => [[size, ...args[size]].join(' ')],
    run: async (named, seed) => {
      const [, ...given] = named.split(' ')
      const { said, code, out } = await call(path, [...given, ...(seeded ? [String(seed)] : [])])
      return outcomeOf(name, said, code, out)
    },
    // They come with its case: a programme that is killed after it has them, or has neither.
    control: async () => [],
    alone: true,
  }
}

async function call(path: string, args: readonly string[]) {
  const folder = mkdtempSync(join(tmpdir(), 'counterfoil-proof-'))
  const file = join(folder, 'said.json')
  const given = [path, ...args, '--json', file]
  const child = spawn(process.execPath, given, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] })
  let out = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      out = `${out}${chunk}`.slice(-10_000)
    })
  }
  const [code] = await once(child, 'close')
  const said: Said = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {}
  rmSync(folder, { recursive: true, force: true })
  return { said, code, out }
}

function outcomeOf(name: string, said: Said, code: number | null, out: string): Outcome {
  const { cases = 0, faults = cases, effects = 0, duplicates = 0, lost = 0 } = said
  const wrong = (said.bad ?? []).map((each) => JSON.stringify(each))
  if (code !== 0 || said.ok === false) wrong.push(`it ended with ${code}: ${out.slice(-2_000)}`)
  const controls: Control[] = (said.controls ?? []).map((each) => ({ evidence: '', ...each }))
  return {
    controls,
    ...{ ...nothing, kind: name, injected: faults, evidence: said.evidence ?? '', wrong },
    ...{ runs: cases, effects, duplicates, lost },
    ...{ surfaced: said.surfaced ?? 0, falseSurfaced: said.falseSurfaced ?? 0 },
  }
}

const none = { test: [], small: [], full: [] }
// Its seeds begin with the programme's.
export const sim = elsewhere('sim', 'simulated schedules of the real engine', {
  args: { test: ['fleet', '200'], small: ['fleet', '20000'], full: ['fleet', '10000000'] },
  seeded: true,
})
export const models = elsewhere('models', 'protocol models in spin, with mutants', {
  args: { ...none, full: ['--full'] },
  needs: ['spin', 'gcc'],
})
export const mutants = elsewhere(
  'mutants',
  'named bugs of the protocol, each caught by two layers',
  { args: none },
)
