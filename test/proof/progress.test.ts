// The file that the fault programme goes on from, and what its report makes of it.
import { afterEach, describe, expect, test } from 'vitest'
import { runProgramme } from './programme.ts'
import { Progress } from './progress.ts'
import { reportOf } from './report.ts'
import { begun, newFile, options, removeFolders, toy } from './toy.ts'

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
})
