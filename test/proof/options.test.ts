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
