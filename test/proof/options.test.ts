// What the programmes say to options that they cannot take: before anything runs.
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, expect, test } from 'vitest'
import { newFolder, removeFolders } from './toy.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
afterEach(removeFolders)

function call(name: string, ...args: string[]) {
  const given = [join(root, 'scripts', `${name}.mjs`), ...args]
  const { status, stdout, stderr } = spawnSync(process.execPath, given, { encoding: 'utf8' })
  return { status, stdout, stderr }
}

test('J3 the file of an earlier programme is refused without --resume', () => {
  const folder = newFolder()
  const path = join(folder, 'small-5.jsonl')
  writeFileSync(path, 'of before\n')
  const { status, stdout, stderr } = call('proof', '--seed', '5', '--out', folder)
  expect([status, stdout]).toEqual([2, ''])
  expect(stderr).toContain(`--resume ${path}`)
  expect(stderr).toContain('another --seed or --out')
  expect(readFileSync(path, 'utf8')).toBe('of before\n')
})

test.each(['0', '-1', '1.5', '99999999999999999999'])(
  'J3 a seed that a layer would refuse is refused at once: %s',
  (seed) => {
    const { status, stderr } = call('proof', `--seed=${seed}`, '--out', newFolder())
    expect([status, stderr]).toEqual([2, '--seed is a whole number of at least 1\n'])
  },
)

test.each(['proof', 'sim', 'mutants', 'models'])(
  'J3 an option that %s does not know is told of in one line',
  (name) => {
    const { status, stderr } = call(name, '--nonsense')
    expect(status).toBe(2)
    expect(stderr).toMatch(/^Unknown option '--nonsense'.*\n$/)
  },
)
