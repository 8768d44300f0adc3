// The file that the fault programme goes on from, and what its report makes of it.
import { readFileSync, writeFileSync } from 'node:fs'
import { afterEach, describe, expect, test } from 'vitest'
import { nothing, spread } from './layer.ts'
import { sim } from './layers/elsewhere.ts'
import { runProgramme } from './programme.ts'
import { Progress } from './progress.ts'
import { markdownOf, reportOf } from './report.ts'
import { begun, heading, newFile, options, removeFolders, toy } from './toy.ts'

afterEach(removeFolders)

const held = async () => [{ name: 'control', failed: false, evidence: '' }]
const lacking = { missing: () => 'no strace' }

describe('layers that could not be run', () => {
  test('J3 a layer that was missing and was run after a resume counts', async () => {
    const path = newFile()
    const first = begun(path)
    await runProgramme([toy('', lacking)], first, options)
    first.close()
    const second = new Progress(path)
    const layer = toy('b', { control: held })
    await runProgramme([layer], second, options)
    second.close()
    for (const progress of [second, new Progress(path)]) {
      const { ok, rows } = reportOf([layer], progress)
      expect(ok).toBe(false)
      expect(rows[0]).toMatchObject({ missing: null, failed: 1, wrong: ['b: TWICE mail'] })
      expect(rows[0]?.controls).toMatchObject([{ failed: false }])
    }
  })

  test('J3 what was found before a tool went missing is not hidden by it', async () => {
    const progress = begun()
    await runProgramme([toy('b')], progress, options)
    await runProgramme([toy('b', lacking)], progress, options)
    expect(reportOf([toy()], progress)).toMatchObject({ ok: false, rows: [{ failed: 1 }] })
    progress.close()
  })

  test('J3 no layer run at all is no pass', async () => {
    const progress = begun()
    await runProgramme([toy('', lacking)], progress, options)
    const report = reportOf([toy()], progress)
    progress.close()
    expect(report.ok).toBe(false)
    expect(markdownOf(report)).toContain('NOTHING WAS RUN')
    expect(markdownOf(report)).not.toContain('Nothing is wrong')
  })

  test('J3 a missing layer is named in the headline, and fails if it was asked for', async () => {
    const progress = begun()
    const all = [toy(), toy('', { ...lacking, name: 'other' })]
    await runProgramme(all, progress, options)
    const report = reportOf(all, progress)
    expect(report.ok).toBe(true)
    const headline = 'Nothing is wrong in 1 of 2 layers; not run: other (no strace).'
    expect(markdownOf(report)).toContain(headline)
    const asked = reportOf(all, progress, ['other'])
    progress.close()
    expect(asked.ok).toBe(false)
    expect(markdownOf(asked)).toContain('FAILS: it was asked for by name and could not be run')
  })

  test('J3 a layer whose faults mostly did not happen fails, and says so', async () => {
    const run = async (each: string) => ({ ...nothing, injected: each === 'a' ? 1 : 0 })
    const progress = begun()
    await runProgramme([toy('', { run })], progress, options)
    const report = reportOf([toy()], progress)
    progress.close()
    expect(report.ok).toBe(false)
    expect(markdownOf(report)).toContain('FAILS: fewer than half of the cases were reached: 1')
  })
})

describe('controls', () => {
  const none = { control: async () => [] }

  test('J3 a layer that was run without a control fails', async () => {
    const progress = begun()
    await runProgramme([toy('', none)], progress, options)
    const report = reportOf([toy()], progress)
    progress.close()
    expect(report.ok).toBe(false)
    expect(markdownOf(report)).toContain('FAILS: no control was run')
  })

  test('J3 controls that come with a case are there after a kill that follows it', async () => {
    const run = async () => ({ ...nothing, injected: 1, controls: await held() })
    const path = newFile()
    const layer = toy('', { ...none, run, plan: async () => ['a'] })
    const first = begun(path)
    await runProgramme([layer], first, options)
    first.close()
    const lines = readFileSync(path, 'utf8').split('\n')
    const after = lines.findIndex((line) => line.includes('"outcome"')) + 1
    writeFileSync(path, `${lines.slice(0, after).join('\n')}\n`)
    const second = new Progress(path)
    await runProgramme([layer], second, options)
    const report = reportOf([layer], second)
    second.close()
    expect(report.rows[0]?.controls).toMatchObject([{ name: 'control', failed: false }])
    expect(report.ok).toBe(false)
  })

  test('J3 sim has a control: a mutant that its schedules find', async () => {
    const { controls, wrong } = await sim.run('test fleet 20', 1)
    expect(wrong).toEqual([])
    expect(controls).toMatchObject([{ name: 'mutant no-quiet-time', failed: true }])
  }, 300_000)
})

describe('going on', () => {
  test('J3 every commit that a programme was run at is in its report', async () => {
    const path = newFile()
    const first = begun(path)
    await runProgramme([toy()], first, { ...options, casesMax: 1 })
    first.close()
    const second = new Progress(path)
    second.write({ commit: 'd' })
    await runProgramme([toy()], second, options)
    second.close()
    const report = reportOf([toy()], new Progress(path))
    expect(report.commits).toEqual([
      { commit: 'c', cases: 1 },
      { commit: 'd', cases: 3 },
    ])
    expect(markdownOf(report)).toContain('commits c (1 cases), d (3 cases)')
  })

  const head = JSON.stringify({ heading })
  test.each([
    ['a report', '{\n  "size": "small",\n  "rows": []\n}\n', 1],
    ['an empty object', '{}', 1],
    ['an empty file', '', 1],
    ['null', 'null\n', 1],
    ['null after the heading', `${head}\nnull\n`, 2],
    ['a line without an outcome', `${head}\n{"layer":"toy","name":"a"}\n`, 2],
    ['a line that was cut short in the middle', `${head}\n{"layer":\n{"commit":"d"}\n{"la`, 2],
  ])('J3 --resume with a wrong file leaves it as it is: %s', (_, text, line) => {
    const path = newFile()
    writeFileSync(path, text)
    expect(() => new Progress(path)).toThrow(`${path}, line ${line}: `)
    expect(readFileSync(path, 'utf8')).toBe(text)
  })

  test('J3 --cases takes of every kind, though the kinds alternate', () => {
    const all = Array.from({ length: 20 }, (_, n) => `${n % 2 === 0 ? 'upstream' : 'process'} ${n}`)
    const chosen = new Set<string>()
    for (let seed = 1; seed <= 50; seed++) {
      for (const count of [2, 10]) {
        const some = spread(all, count, seed)
        expect(some).toHaveLength(count)
        expect(some.filter((name) => name.startsWith('process'))).toHaveLength(count / 2)
        expect(some).toEqual(all.filter((name) => some.includes(name)))
        for (const name of some) chosen.add(name)
      }
    }
    expect(chosen.size).toBe(all.length)
    expect(spread(all, 0, 1)).toEqual([])
  })

  test('J3 what is said to be run now is what is run, with --cases too', async () => {
    const progress = begun()
    const said: string[] = []
    const say = (text: string) => said.push(text)
    await runProgramme([toy()], progress, { ...options, casesMax: 2, say })
    await runProgramme([toy()], progress, { ...options, casesMax: 2, say })
    progress.close()
    expect(said).toContain('toy: 4 cases, 0 done before, 2 now')
    expect(said).toContain('toy: 4 cases, 2 done before, 0 now')
  })
})
