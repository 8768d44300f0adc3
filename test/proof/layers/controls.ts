// Controls that several layers share: what is done otherwise elsewhere, under the same fault.
import { join } from 'node:path'
import { compare, Site, script } from '../../crash/driver.ts'
import type { Control } from '../layer.ts'

const stepsMax = 4

/**
 * Plain checkpoints, a step's result saved after the step: who dies between the two acts again.
 * `before`: the program that kills it at its n-th touch of the file of its records.
 */
export async function plainCheckpoints(
  fault: string,
  before: (n: number, path: string) => readonly string[],
): Promise<Control> {
  let kills = 0
  let twice = 0
  for (let n = 1; n <= stepsMax; n++) {
    const site = await Site.open()
    const path = join(site.dir, 'naive.json')
    const args = [path, site.port, '0', 'r1']
    const around = { before: before(n, path) }
    const { signal } = await site.spawn(script('naive.mjs'), args, [], around).exit
    if (signal === 'SIGKILL') kills++
    await site.spawn(script('naive.mjs'), args).exit
    twice += compare(site.effects(), []).twice.length
    await site.close()
  }
  const evidence = `${kills} deaths by ${fault}, ${twice} effects twice`
  return { name: 'plain checkpoints', failed: kills > 0 && twice > 0, evidence }
}
