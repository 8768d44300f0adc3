// `npm run steady`: the tests again and again, on a machine that others keep busy.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { ranOf, slowestOf, tableOf } from '../scripts/steady.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))

function report(file: { status: string; message?: string; tests?: [string, string][] }, ms = 1000) {
  const { status, message = '', tests = [] } = file
  const assertionResults = tests.map(([fullName, status]) => ({ fullName, status }))
  const own = { name: '/x/test/a.test.ts', startTime: 5, endTime: 5 + ms, message }
  return {
    ...{ success: status === 'passed', numPassedTests: 3, startTime: 0 },
    testResults: [{ ...own, status, assertionResults }],
  }
}

test('what failed is named: a test, a file that could not be loaded, or neither', () => {
  const passed = ranOf(report({ status: 'passed', tests: [['holds', 'passed']] }), '/x')
  expect(passed).toEqual({
    ...{ passed: 3, seconds: 1.005, failed: [] },
    files: { 'test/a.test.ts': 1 },
  })
  const failed = report({ status: 'failed', tests: [['holds not', 'failed']] })
  expect(ranOf(failed, '/x').failed).toEqual(['test/a.test.ts: holds not'])
  const unloaded = report({ status: 'failed', message: 'no such module\nat …' })
  expect(ranOf(unloaded, '/x').failed).toEqual(['test/a.test.ts: no such module'])
  const elsewhere = { ...report({ status: 'passed' }), success: false }
  expect(ranOf(elsewhere, '/x').failed).toEqual(['a failure outside the tests'])
})

test('the table has a line for each run, every failed test, and the slowest files', () => {
  const runs = [
    ranOf(report({ status: 'passed' }, 1_000), '/x'),
    ranOf(report({ status: 'failed', tests: [['holds not', 'failed']] }, 9_000), '/x'),
    ranOf(report({ status: 'passed' }, 2_000), '/x'),
  ]
  const table = tableOf(runs)
  expect(table).toContain('| 2 | FAILED | 3 | 1 |')
  expect(table).toContain('- 1 of 3: test/a.test.ts: holds not')
  expect(table).toContain('| test/a.test.ts | 2.0 | 9.0 |')
  expect(tableOf(runs.slice(0, 1))).toContain('No test failed.')
  expect(slowestOf(runs)).toEqual([{ file: 'test/a.test.ts', seconds: 2, longest: 9 }])
})

test('two runs under load; the same command again reads them, another one is refused', () => {
  const out = mkdtempSync(join(tmpdir(), 'counterfoil-steady-'))
  onTestFinished(() => rmSync(out, { recursive: true, force: true }))
  const steady = (...args: string[]) =>
    spawnSync(process.execPath, [join(root, 'scripts/steady.mjs'), '--out', out, ...args], {
      encoding: 'utf8',
      env: { ...process.env, COUNTERFOIL_TEST_POSTGRES: '' },
    })
  const one = ['--load', '1', 'test/model/version.test.ts']
  const first = steady('--runs', '2', ...one)
  expect([first.status, first.stderr]).toEqual([0, ''])
  expect(first.stdout).toMatch(/run 2 of 2, \d+ s: passed/)
  expect(first.stdout).toContain('| test/model/version.test.ts |')
  const before = readFileSync(join(out, 'run-1.json'), 'utf8')
  expect(steady('--runs', '2', ...one).stdout).toBe(first.stdout)
  expect(readFileSync(join(out, 'run-1.json'), 'utf8')).toBe(before)
  const other = steady('--load', '2', 'test/model/version.test.ts')
  expect([other.status, other.stdout]).toEqual([2, ''])
  expect(other.stderr).toContain('runs of something else')
  expect(existsSync(join(out, 'run-3.json'))).toBe(false)
}, 300_000)

test('what it cannot take is said before anything runs', () => {
  const call = (...args: string[]) =>
    spawnSync(process.execPath, [join(root, 'scripts/steady.mjs'), ...args], { encoding: 'utf8' })
  expect(call('--runs', 'x')).toMatchObject({ status: 2, stderr: '--runs is a whole number\n' })
  expect(call('--runs', '0')).toMatchObject({ status: 2, stderr: '--runs is at least 1\n' })
  expect(call('none.test.ts')).toMatchObject({
    status: 2,
    stderr: 'there is no file none.test.ts\n',
  })
})
