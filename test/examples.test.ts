// Examples are programs, and what the README shows is one of them.
import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))

test('L1 examples/first.mjs runs as it stands, and is what the README shows', async () => {
  const source = readFileSync(join(root, 'examples/first.mjs'), 'utf8')
  expect(readFileSync(join(root, 'README.md'), 'utf8')).toContain(`\`\`\`js\n${source}\`\`\``)
  const dir = mkdtempSync(join(tmpdir(), 'counterfoil-example-'))
  cpSync(join(root, 'examples/first.mjs'), join(dir, 'first.mjs'))
  symlinkSync(join(root, 'node_modules'), join(dir, 'node_modules'))
  // As an installed package would be found.
  const text = source.replace("'counterfoil'", JSON.stringify(join(root, 'dist/index.js')))
  const run = promisify(execFile)
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', text], { cwd: dir })
  expect(stdout).toContain("state: 'waiting_human'")
  expect(stdout).toContain("kind: 'question'")
  rmSync(dir, { recursive: true, force: true })
})
