// A share of the fault programme (docs/proof.md); `npm run proof` is more of it. A layer whose tool
// is missing here says so.
import { readFileSync, writeFileSync } from 'node:fs'
import { afterEach, describe, expect, test } from 'vitest'
import { seed } from '../size.ts'
import { percentile, upperBound } from './bound.ts'
import { disk } from './layers/disk.ts'
import { failpoints } from './layers/failpoints.ts'
import { inputs } from './layers/inputs.ts'
import { late } from './layers/late.ts'
import { power } from './layers/power.ts'
import { syscalls } from './layers/syscalls.ts'
import { runProgramme } from './programme.ts'
import { Progress } from './progress.ts'
import { markdownOf, reportOf } from './report.ts'
import { begun, heading, newFile, options, removeFolders, toy } from './toy.ts'

afterEach(removeFolders)

describe.each([syscalls, failpoints, power, disk, late, inputs])('J1, J3 $name', (layer) => {
  const missing = layer.missing()
  if (missing !== null) console.warn(`${layer.name} is not run: ${missing}`)

  test.runIf(missing === null)(
    `J1, J3 a share of it, and its control: ${layer.about}`,
    async () => {
      const progress = new Progress(newFile())
      progress.write({ heading: { ...heading, seed } })
      const say = () => {}
      await runProgramme([layer], progress, { size: 'test', seed, jobs: 2, say })
      const { rows, ok } = reportOf([layer], progress)
      progress.close()
      const [row] = rows
      console.log(`proof: ${JSON.stringify(row)}`)
      expect(row?.wrong).toEqual([])
      expect(row?.controls.filter((control) => !control.failed)).toEqual([])
      // Timing moves places between executions; most faults must have been real.
      expect(row?.notReached).toBeLessThan((row?.cases ?? 0) / 2)
      expect(ok).toBe(true)
    },
    300_000,
  )
})

describe('the programme itself', () => {
  test('J3 --match runs the cases whose names begin so, and no others', async () => {
    const progress = begun()
    const ran: string[] = []
    const layer = toy()
    const run = (each: string, seed: number) => {
      ran.push(each)
      return layer.run(each, seed)
    }
    await runProgramme([{ ...layer, run }], progress, { ...options, match: 'b' })
    expect(ran).toEqual(['b'])
    const none = runProgramme([layer], progress, { ...options, match: 'nobody' })
    await expect(none).rejects.toThrow('no case of toy begins with "nobody"')
  })

  test('J3 a programme that was killed goes on where it was', async () => {
    const path = newFile()
    const first = begun(path)
    const ran: string[] = []
    const dying = toy()
    const run = async (each: string, own: number) => {
      ran.push(each)
      if (each === 'c' && ran.length === 3) throw new Error('killed')
      return dying.run(each, own)
    }
    await runProgramme([{ ...dying, run }], first, { ...options, casesMax: 2 })
    first.close()
    writeFileSync(path, `${readFileSync(path, 'utf8')}{"layer":"toy","name":"x","outc`)
    const done = new Set(ran)
    const second = new Progress(path)
    expect(second.of('toy').done.size).toBe(2)
    const again: string[] = []
    const more = async (each: string, own: number) => {
      again.push(each)
      return dying.run(each, own)
    }
    await runProgramme([{ ...dying, run: more }], second, options)
    expect(again.filter((each) => done.has(each))).toEqual([])
    expect([...done, ...again].sort()).toEqual(['a', 'b', 'c', 'd'])
    expect(reportOf([dying], second)).toMatchObject({ ok: true, rows: [{ cases: 4, injected: 4 }] })
    second.close()
  })

  test('J3 it fails for one wrong case, and for a control that holds', async () => {
    const progress = begun()
    await runProgramme([toy('c')], progress, options)
    const report = reportOf([toy('c')], progress)
    expect(report).toMatchObject({ ok: false, rows: [{ failed: 1, wrong: ['c: TWICE mail'] }] })
    expect(markdownOf(report)).toContain('SOMETHING IS WRONG')
    progress.close()
    const other = begun()
    const held = { name: 'control', failed: false, evidence: '' }
    const holding = { ...toy(), control: async () => [held] }
    await runProgramme([holding], other, options)
    expect(reportOf([holding], other).ok).toBe(false)
    other.close()
  })

  test('J3 a layer whose tool is missing is said to be not run', async () => {
    const progress = begun()
    const layer = { ...toy(), missing: () => 'no strace' }
    await runProgramme([layer], progress, options)
    expect(markdownOf(reportOf([layer], progress))).toContain('not run: no strace')
    progress.close()
  })

  test('J3 the bound is the exact one, and that of three for none', () => {
    expect(upperBound(0, 30)).toBeCloseTo(0.095, 3)
    expect(upperBound(0, 100_000)).toBeCloseTo(3 / 100_000, 6)
    expect(upperBound(1, 100)).toBeCloseTo(0.0466, 3)
    expect(upperBound(0, 0)).toBeNull()
    expect(upperBound(3, 3)).toBe(1)
    expect(percentile([5, 1, 3, 2, 4], 0.5)).toBe(3)
    expect(percentile([], 0.5)).toBeNull()
  })
})
