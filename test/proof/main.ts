// What `npm run proof` runs, in a process that can read TypeScript (scripts/proof.mjs).
import { writeFileSync } from 'node:fs'
import type { Layer, Size } from './layer.ts'
import { disk } from './layers/disk.ts'
import { models, mutants, sim } from './layers/elsewhere.ts'
import { failpoints } from './layers/failpoints.ts'
import { inputs } from './layers/inputs.ts'
import { kills } from './layers/kills.ts'
import { late } from './layers/late.ts'
import { postgres } from './layers/postgres.ts'
import { power } from './layers/power.ts'
import { syscalls } from './layers/syscalls.ts'
import { runProgramme } from './programme.ts'
import { Progress } from './progress.ts'
import { markdownOf, reportOf } from './report.ts'

export const layers: readonly Layer[] = [
  ...[syscalls, failpoints, kills, power, disk, postgres, late, sim, models, mutants, inputs],
]

export interface Asked {
  size: Size
  seed: number
  jobs: number
  casesMax?: number
  match?: string
  /** Layers by name; all of them if none is named. */
  only: readonly string[]
  /** The file to go on from, and to write to. */
  progress: string
  json: string
  markdown: string
  commit: string
}

/** Whether all is well. */
export async function main(asked: Asked): Promise<boolean> {
  const strange = asked.only.find((name) => !layers.some((layer) => layer.name === name))
  if (strange !== undefined) {
    const names = layers.map(({ name }) => name).join(', ')
    throw new Error(`there is no layer ${strange}; there are: ${names}`)
  }
  const progress = new Progress(asked.progress)
  const { heading } = progress
  const { size, seed } = heading ?? asked
  if (heading === null) {
    const { commit } = asked
    const startedAt = new Date().toISOString()
    progress.write({ heading: { size, seed, commit, node: process.versions.node, startedAt } })
  } else if (progress.commits.at(-1) !== asked.commit) {
    progress.write({ commit: asked.commit })
    console.log(`commits ${progress.commits.join(', ')}: the figures are of all of them`)
  }
  console.log(`size ${size}, seed ${seed}, commit ${asked.commit}, progress in ${asked.progress}`)
  const chosen = layers.filter(({ name }) => asked.only.length === 0 || asked.only.includes(name))
  const { jobs, casesMax, match = '' } = asked
  const say = (text: string) => console.log(text)
  const most = casesMax === undefined ? {} : { casesMax }
  await runProgramme(chosen, progress, { size, seed, jobs, match, say, ...most })
  const made = reportOf(chosen, progress, asked.only)
  writeFileSync(asked.json, `${JSON.stringify(made, null, 2)}\n`)
  writeFileSync(asked.markdown, `${markdownOf(made)}\n`)
  progress.close()
  console.log(`\n${markdownOf(made)}`)
  return made.ok
}
