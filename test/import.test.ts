// What `import 'counterfoil'` loads, in a process of its own from the built package: a killed run
// goes on only after that.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'

const dist = new URL('../dist/', import.meta.url)

/** Says every file that is loaded. Such hooks run in a thread of their own, hence a plain write. */
const hooks = `
  import { writeSync } from 'node:fs'
  export async function load(url, context, next) {
    if (url.startsWith('file:')) writeSync(1, url + '\\n')
    return next(url, context)
  }`

function loadedBy(code: string): string[] {
  const asUrl = (text: string) => `data:text/javascript,${encodeURIComponent(text)}`
  const begin = `import { register } from 'node:module'; register(${JSON.stringify(asUrl(hooks))})`
  const args = ['--import', asUrl(begin), '--input-type=module', '-e', code]
  const cwd = mkdtempSync(join(tmpdir(), 'counterfoil-import-'))
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }))
  const said = execFileSync(process.execPath, args, { cwd, encoding: 'utf8' })
  return said.split('\n').filter((line) => line !== '')
}

const index = JSON.stringify(new URL('index.js', dist).href)

test('O8 importing the package loads one file a layer, no store, no server, no dependency', () => {
  const loaded = loadedBy(`await import(${index})`)
  expect(loaded).toContain(new URL('engine/engine.js', dist).href)
  expect(loaded.length).toBeLessThan(20)
  expect(loaded.filter((url) => url.includes('/node_modules/'))).toEqual([])
  expect(loaded.filter((url) => /\/dist\/(server|cli|testing|adapters)\//.test(url))).toEqual([])
  expect(loaded.filter((url) => /\/dist\/store\/\w+\//.test(url))).toEqual([])
})

test('L1 an open SQLite store has loaded its driver, and neither pg, hono nor zod', () => {
  const loaded = loadedBy(`
    const { open } = await import(${index})
    const cf = await open({ store: 'sqlite:runs.db' })
    await cf.close()`)
  const packageOf = (url: string) => /\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? []
  const packages = loaded.flatMap(packageOf)
  expect([...new Set(packages)]).toContain('better-sqlite3')
  expect(packages.filter((name) => /^(pg|hono|@hono\/.*|zod)$/.test(name))).toEqual([])
})
