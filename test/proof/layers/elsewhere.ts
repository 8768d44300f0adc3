// Layers that are programmes of their own: simulated schedules, protocol models, named mutants. Each
// writes what it found to a file of JSON.
import { spawn } from 'node:child_process'
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
  wrong?: string[]
  controls?: Control[]
  missing?: string
}

function elsewhere(name: string, about: string, args: Record<Size, string[]>): Layer {
  const path = join(root, 'scripts', `${name}.mjs`)
  let controls: Control[] = []
  return {
    ...{ name, about },
    missing: () => (existsSync(path) ? null : `no scripts/${name}.mjs`),
    plan: async (size) => [[size, ...args[size]].join(' ')],
    run: async (named, seed) => {
      const [, ...given] = named.split(' ')
      const { said, code, out } = await call(path, [...given, '--seed', String(seed)])
      controls = said.controls ?? []
      return outcomeOf(name, said, code, out)
    },
    // They have their own, and fail without them.
    control: async () => controls,
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
  const wrong = [...(said.wrong ?? [])]
  if (code !== 0 || said.ok === false) wrong.push(`it ended with ${code}: ${out.slice(-2_000)}`)
  return {
    ...{ ...nothing, kind: name, injected: faults, evidence: said.evidence ?? '', wrong },
    ...{ runs: cases, effects, duplicates, lost },
    ...{ surfaced: said.surfaced ?? 0, falseSurfaced: said.falseSurfaced ?? 0 },
  }
}

export const sim = elsewhere('sim', 'simulated schedules of the real engine', {
  ...{ test: [], small: [], full: ['--full'] },
})
export const models = elsewhere('models', 'protocol models in spin, with mutants', {
  ...{ test: [], small: [], full: ['--full'] },
})
export const mutants = elsewhere(
  'mutants',
  'named bugs of the protocol, each caught by two layers',
  {
    ...{ test: [], small: [], full: ['--full'] },
  },
)
