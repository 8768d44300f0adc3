// A layer that costs nothing, to test the programme itself with.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Layer, nothing, type Outcome } from './layer.ts'
import { Progress } from './progress.ts'

export const heading = { size: 'test', commit: 'c', node: 'n', startedAt: '', seed: 1 } as const
export const options = { size: 'test', seed: 1, jobs: 1, say: () => {} } as const

/** Four cases; `wrong` is the one in which an effect happens twice. */
export function toy(wrong = '', changes: Partial<Layer> = {}): Layer {
  return {
    ...{ name: 'toy', about: 'a toy', missing: () => null },
    plan: async () => ['a', 'b', 'c', 'd'],
    run: async (each): Promise<Outcome> => ({
      ...{ ...nothing, injected: 1, runs: 1, evidence: `fault ${each}`, resumeMs: [10] },
      wrong: each === wrong ? ['TWICE mail'] : [],
    }),
    control: async () => [{ name: 'control', failed: true, evidence: 'twice' }],
    ...changes,
  }
}

const folders: string[] = []

export function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'counterfoil-proof-'))
  folders.push(folder)
  return folder
}

export function newFile(): string {
  return join(newFolder(), 'progress.jsonl')
}

export function removeFolders(): void {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true })
}

export function begun(path = newFile()): Progress {
  const progress = new Progress(path)
  progress.write({ heading })
  return progress
}
