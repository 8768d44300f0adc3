// The comparison of three arms, run small: the same agents, killed at the same requests.
// `npm run bench:arms` runs thirty tasks.
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'

const program = fileURLToPath(new URL('../bench/arms/main.mjs', import.meta.url))
// With this seed one death falls between an e-mail and its answer, one before it is sent, and one
// just after its answer.
const seed = '9'

test('O8 three arms under the same kills: only Counterfoil sends each e-mail once', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'counterfoil-arms-test-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  const file = join(dir, 'arms.json')
  const size = ['--tasks', '2', '--kills', '3', '--seed', seed, '--thinking-ms', '20']
  const args = [program, ...size, '--out', file]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  const { prompt, checkpoint, counterfoil } = JSON.parse(readFileSync(file, 'utf8')).results
  for (const arm of [prompt, checkpoint, counterfoil]) {
    expect(arm).toMatchObject({ tasks: 2, ended: 2, missing: 0 })
    expect(arm.killed).toBeGreaterThanOrEqual(5)
  }
  expect(prompt.duplicates).toBeGreaterThan(0)
  expect(checkpoint.duplicates).toBeGreaterThan(0)
  expect(counterfoil).toMatchObject({ right: 2, duplicates: 0 })
  // It is one of the calls that only a person can know of.
  expect(counterfoil.asked).toBeGreaterThan(0)
  for (const title of ['state in the prompt', 'checkpoint after the act', 'Counterfoil']) {
    expect(stdout).toContain(title)
  }
}, 300_000)
