import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import type { Command } from 'commander'
import { describe, expect, test } from 'vitest'
import { createProgram } from '../../../src/cli/program.ts'
import { bin, folder, misfits, prepare, run } from '../harness.ts'

describe('a slip of the finger gets a suggestion and exit code 2', () => {
  test.each([
    [['rusn'], 'runs'],
    [['inbox', 'shwo'], 'show'],
    [['inbox', 'item_1'], 'inbox show item_1'],
    [['run', 'acme-1'], 'run show acme-1'],
    [['run', 'puase', 'acme-1'], 'run pause acme-1'],
    [['checkpoint', 'inspct', 'x'], 'inspect'],
    [['checkpoint', 'diff', 'x', '1', 'b'], 'the second visit takes a whole number'],
    [['checkpoint', 'pin', 'x', '1'], "needs --reason '<why>'"],
    [['ledger', 'verfiy'], 'verify'],
    [['ledger', 'show', 'x', '--visit', '0'], '--visit takes a whole number'],
    [['worker', 'dead', 'x'], "needs --reason '<why>'"],
    [['store', 'rotate'], 'rotate-key'],
    [['approve'], "missing required argument 'item'; the command is `counterfoil approve <item>`"],
    [['inbox', 'decide', 'approve'], '`counterfoil inbox decide <outcome> <items>`'],
    [
      ['inbox', 'decide', 'approve', 'item_1', '--reason', 'y'],
      'item_1@1; `counterfoil inbox show',
    ],
    [['inbox', '--quee', 'x'], '--queue'],
    [['reject', 'x', '--yes'], "needs --reason '<why>'"],
    [['respond', 'x'], "missing required argument 'json'"],
    [['completion', 'bahs'], 'did you mean bash?'],
    [['store', 'adpot'], 'adopt'],
    [['runs', '--limt', '3'], '--limit'],
    [['runs', '--state', 'wating_human'], 'waiting_human'],
    [['runs', '--limit', '0'], 'between 1 and 500'],
    [['inbox', '--kind', 'doubts'], 'doubt'],
    [['decide', 'x', 'happend', '--reason', 'y'], 'happened'],
    [['decide', 'x', 'did_not_hapen', '--reason', 'y'], 'did_not_happen'],
    [['decide', 'x'], "missing required argument 'outcome'"],
    [['dev'], "missing required argument 'file'"],
    [['runs', '--store', 'runs.db'], 'sqlite:runs.db'],
  ])('%j', async (args, says) => {
    const { code, stderr, stdout } = await run(args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(says)
    expect(stderr).toMatch(/^error: .* \[[A-Z_]+, docs\/errors\/[A-Z_]+\.md\]\n$/)
  })
})

test('with --json every answer and every error is one document', async () => {
  const { store } = await prepare()
  const good = [['runs'], ['run', 'show', 'lost', '--events'], ['inbox'], ['inbox', '--json']]
  const goodEnds = await Promise.all(good.map((args) => run([...args, '--json', '--store', store])))
  for (const { stdout, stderr, code } of goodEnds) {
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(typeof JSON.parse(stdout)).toBe('object')
  }
  const bad = [[], ['rusn'], ['runs', '--nope'], ['run', 'show', 'x'], ['inbox', 'show', 'x']]
  const badEnds = await Promise.all(
    bad.map((args) => run([...args, '--json'], { COUNTERFOIL_STORE: store })),
  )
  for (const { stdout, stderr, code } of badEnds) {
    expect({ stdout, failed: code !== 0 }).toEqual({ stdout: '', failed: true })
    const { error } = JSON.parse(stderr)
    expect(error).toMatchObject({ docs: `docs/errors/${error.code}.md` })
    expect(error.message).toBeTypeOf('string')
  }
})

test('a stack is shown with --debug only', async () => {
  const { store } = await prepare()
  const plain = await run(['run', 'show', 'x', '--store', store])
  expect(plain.stderr.trimEnd().split('\n')).toHaveLength(1)
  const debug = await run(['run', 'show', 'x', '--store', store, '--debug'])
  expect(debug.stderr).toMatch(/\n {4}at /)
})

test('global options are understood before and after the command', async () => {
  const { store } = await prepare()
  const before = await run(['--store', store, '--json', 'runs'])
  const after = await run(['runs', '--json'], { COUNTERFOIL_STORE: store })
  expect(JSON.parse(before.stdout)).toEqual(JSON.parse(after.stdout))
  const other = await run(['runs', '--store', store, '--namespace', 'other'])
  expect(other.stdout).toBe('No runs yet.\n')
})

/** The help of a command and of all below it, as 80 columns show it. */
function helpPages(command: Command): string[] {
  let page = ''
  command.configureOutput({
    writeOut: (text) => {
      page += text
    },
    getOutHelpWidth: () => 80,
  })
  command.outputHelp()
  return [page, ...command.commands.flatMap(helpPages)]
}

test('help teaches, fits, and names the exit codes', async () => {
  const pages = helpPages(createProgram({ json: false }))
  expect(pages.length).toBeGreaterThan(30)
  for (const page of pages) {
    expect(page).toMatch(/Examples?:|Begin with:/)
    expect(misfits(page)).toEqual([])
  }
  const { stdout, stderr, code } = await run(['--help'])
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toMatch(/Exit codes: 0 .*, 1 .*, 2 /)
  const below = await run(['run', 'retry', '--help'])
  expect(below).toMatchObject({ code: 0, stderr: '' })
  expect(below.stdout).toContain('--made-sure')
  const bare = await run([])
  expect(bare).toMatchObject({ code: 2, stdout: '' })
  expect(bare.stderr).toContain('Begin with:')
})

test('--version prints the version of the package', async () => {
  const manifest = readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')
  const { stdout, code } = await run(['--version'])
  expect({ stdout, code }).toEqual({ stdout: `${JSON.parse(manifest).version}\n`, code: 0 })
})

test('a reader that has seen enough is no failure', async () => {
  const { store } = await prepare()
  const command = `"${process.execPath}" "${bin}" runs --store "${store}" | head -n 1`
  const shell = ['-c', `set -o pipefail; ${command}`]
  expect(execFileSync('bash', shell, { encoding: 'utf8' })).toMatch(/^RUN /)
})

test('a file that is no store is left alone', async () => {
  const path = `${folder()}/empty.db`
  writeFileSync(path, '')
  const { code, stderr } = await run(['runs', '--store', `sqlite:${path}`])
  expect(code).toBe(1)
  expect(stderr).toContain('STORE_NOT_FOUND')
  expect(readFileSync(path, 'utf8')).toBe('')
})
