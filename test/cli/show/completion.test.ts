import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { placesOf } from '../../../src/cli/completion/tree.ts'
import { createProgram } from '../../../src/cli/program.ts'
import { folder, json, run } from '../harness.ts'

const bash = hasBash()

function hasBash(): boolean {
  try {
    execFileSync('bash', ['--version'])
    return true
  } catch {
    return false
  }
}

/** What bash would offer for the last of these words. */
function offered(file: string, words: readonly string[]): string[] {
  const line = words.map((word) => `'${word}'`).join(' ')
  const script = `source '${file}'; COMP_WORDS=(counterfoil ${line}); COMP_CWORD=${words.length}
    _counterfoil; printf '%s\\n' "\${COMPREPLY[@]}"`
  const out = execFileSync('bash', ['--norc', '-c', script], { encoding: 'utf8' })
  return out.split('\n').filter((word) => word !== '')
}

test.runIf(bash)('completion for bash offers commands and options where they belong', async () => {
  const file = join(folder(), 'completion.bash')
  writeFileSync(file, (await run(['completion', 'bash'])).stdout)
  execFileSync('bash', ['-n', file])
  const cases: [string[], string[]][] = [
    [['che'], ['checkpoint']],
    [
      ['run', 're'],
      ['resume', 'retry'],
    ],
    [['--store', 'sqlite:x.db', 'run', 'pa'], ['pause']],
    [['run', 'show', '--ev'], ['--events']],
    [['decide', 'item_1', 'happened', '--ver'], ['--version']],
    // The version of the program is a word of its own; that of an item is followed by one.
    [['--version', 'dem'], ['demo']],
    [['decide', '--version', 'x'], []],
    [['store', 'rot'], ['rotate-key']],
    [
      ['completion', ''],
      ['bash', 'zsh', 'fish'],
    ],
    [['run', 'show', 'show', ''], []],
  ]
  for (const [words, expected] of cases)
    expect([words, offered(file, words)]).toEqual([words, expected])
})

test('completion knows every command of the tree, in each shell', async () => {
  const places = placesOf(createProgram({ json: false }))
  const paths = places.map((place) => place.path).filter((path) => path.includes(' '))
  expect(paths).toContain('checkpoint pin')
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { script } = await json(['completion', shell])
    for (const path of paths) expect(script).toContain(`'${path.replace(' ', '|')}'`)
  }
  const wrong = await run(['completion', 'tcsh'])
  expect(wrong.code).toBe(2)
  expect(wrong.stderr).toContain('choose bash, zsh, fish')
})
