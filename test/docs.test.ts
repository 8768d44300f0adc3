// What the documents show is run: a block that begins with `// file: name.mjs` is a whole program,
// and the block of text after it is what it prints. Links lead somewhere, and so do commands.
import { execFile } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Command } from 'commander'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import * as aiSdk from '../src/adapters/ai-sdk/index.ts'
import * as langgraph from '../src/adapters/langgraph/index.ts'
import { createProgram } from '../src/cli/program.ts'
import * as counterfoil from '../src/index.ts'
import * as store from '../src/store/index.ts'
import * as testing from '../src/testing/index.ts'

const root = fileURLToPath(new URL('..', import.meta.url))

interface Page {
  path: string
  text: string
}

const pages: Page[] = [
  'README.md',
  ...readdirSync(join(root, 'docs'), { recursive: true }).map((name) => `docs/${name}`),
]
  .map((path) => path.replaceAll('\\', '/'))
  .filter((path) => path.endsWith('.md'))
  .sort()
  .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }))

interface Program {
  page: string
  name: string
  source: string
  /** Undefined if the page does not show it. */
  prints: string | undefined
}

function programsIn({ path, text }: Page): Program[] {
  const pattern = /^```js\n(\/\/ file: (\S+\.mjs)\n.*?)^```\n(?:\n```text\n(.*?)^```\n)?/gms
  return [...text.matchAll(pattern)].map(([, source = '', name = '', prints]) => ({
    ...{ page: path, name, source, prints },
  }))
}

const programs = pages.flatMap(programsIn)

/** As it would be with the package installed beside it. */
function install(): string {
  const dir = mkdtempSync(join(tmpdir(), 'counterfoil-docs-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  mkdirSync(join(dir, 'node_modules'))
  symlinkSync(root, join(dir, 'node_modules/counterfoil'))
  for (const name of ['zod', 'better-sqlite3', 'ai', '@langchain']) {
    symlinkSync(join(root, 'node_modules', name), join(dir, 'node_modules', name))
  }
  return dir
}

async function expectRuns(name: string): Promise<void> {
  const program = programs.find((one) => one.name === name)
  expect(program?.prints, `${name} is shown with what it prints`).toBeDefined()
  const dir = install()
  writeFileSync(join(dir, name), program?.source ?? '')
  // A colour forced by the test runner would be printed as well.
  const { FORCE_COLOR: _, ...env } = process.env
  const run = promisify(execFile)
  const { stdout } = await run(process.execPath, [name], { cwd: dir, env })
  expect(stdout).toBe(program?.prints)
}

test('D10 the program of docs/guides/graphs.md prints what is shown', () =>
  expectRuns('graphs.mjs'))
test('E1 E3 E4 the program of docs/guides/approvals.md prints what is shown', () =>
  expectRuns('approvals.mjs'))
test('E6 the policy of docs/guides/approvals.md prints what is shown', () => expectRuns('gate.mjs'))
test('D4 C7 C10 the program of docs/guides/operating.md prints what is shown', () =>
  expectRuns('operating.mjs'))
test('D5 the deadline of docs/guides/waiting.md prints what is shown', () =>
  expectRuns('deadline.mjs'))
test('C2 the program of docs/guides/scopes.md prints what is shown', () => expectRuns('scopes.mjs'))
test('K1 the program of docs/guides/langgraph.md prints what is shown', () =>
  expectRuns('langgraph.mjs'))
test('K1 the program of docs/guides/langgraph-resume.md prints what is shown', () =>
  expectRuns('langgraph-resume.mjs'))
test('O3 D11 the drill of docs/recovery.md prints what is shown', () => expectRuns('recovery.mjs'))

test('K2 the program of docs/guides/ai-sdk.md prints what is shown', () => expectRuns('ai-sdk.mjs'))
test('K2 the chat of docs/guides/ai-sdk.md prints what is shown', () =>
  expectRuns('ai-sdk-chat.mjs'))
test('K2 the workflow of docs/guides/ai-sdk.md prints what is shown', () =>
  expectRuns('ai-sdk-workflow.mjs'))
test('J2 the program of docs/guides/chaos.md prints what is shown', () => expectRuns('chaos.mjs'))

test('L5 the program of docs/guides/own-store.md prints what is shown', () =>
  expectRuns('own-store.mjs'))

test('O3 every whole program in the documents is run here', () => {
  const run = [
    'ai-sdk-chat',
    'ai-sdk-workflow',
    'ai-sdk',
    'approvals',
    'chaos',
    'deadline',
    'gate',
    'graphs',
    'langgraph-resume',
    'langgraph',
    'operating',
    'own-store',
    'recovery',
    'releases',
    'scopes',
    'waiting',
  ]
  expect(programs.map((one) => one.name).sort()).toEqual(run.map((name) => `${name}.mjs`))
})

test('O3 a program is found with what it prints, and other blocks are left alone', () => {
  const block = (language: string, text: string) => `\`\`\`${language}\n${text}\`\`\`\n`
  const program = block('js', '// file: a.mjs\nlet a\n')
  const text = `${block('js', 'let b\n')}\n${program}\n${block('text', 'a\n')}\n${program}`
  const found = programsIn({ path: 'a.md', text })
  expect(found.map((one) => one.prints)).toEqual(['a\n', undefined])
  expect(found[0]?.source).toBe('// file: a.mjs\nlet a\n')
})

/** Blocks of code show links that are none. */
function proseOf(text: string): string {
  return text.replaceAll(/^```.*?^```$/gms, '').replaceAll(/`[^`\n]*`/g, '')
}

/** As GitHub names the anchor of a heading. */
function anchorsOf(text: string): string[] {
  const headings = [...text.replaceAll(/^```.*?^```$/gms, '').matchAll(/^#+ (.+)$/gm)]
  return headings.map(([, title = '']) =>
    title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
}

function deadLinks({ path, text }: Page, others: readonly Page[]): string[] {
  const links = [...proseOf(text).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link)
  return links.filter((link) => {
    if (/^[a-z]+:/.test(link)) return false
    const [file = '', anchor] = link.split('#')
    const target = file === '' ? path : posix.join(posix.dirname(path), file)
    if (!existsSync(join(root, target))) return true
    const page = others.find((one) => one.path === target)
    return anchor !== undefined && !anchorsOf(page?.text ?? '').includes(anchor)
  })
}

test('O3 links in the documents lead to a page, and to a heading of it', () => {
  const dead = pages.flatMap((page) =>
    deadLinks(page, pages).map((link) => `${page.path}: ${link}`),
  )
  expect(dead).toEqual([])
  const bad = {
    path: 'docs/a.md',
    text: '[a](nowhere.md) [b](recovery.md#nothing) [c](#d) `[e](f)`',
  }
  expect(deadLinks(bad, pages)).toEqual(['nowhere.md', 'recovery.md#nothing', '#d'])
})

test('O3 every file that the documents name is there', () => {
  const missing = pages.flatMap(({ path, text }) =>
    [...text.matchAll(/`((?:src|test|examples|docs|[a-z]+)\/[\w./-]+\.(?:ts|mjs|md|sql))`/g)]
      .map(([, name = '']) => name)
      .filter((name) => ![name, `src/${name}`].some((file) => existsSync(join(root, file))))
      .map((name) => `${path}: ${name}`),
  )
  expect(missing).toEqual([])
})

/** What a page tells people to type: whole lines, and commands in the middle of a sentence. */
function commandsIn({ text }: Page): string[] {
  const blocks = [...text.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = '']) => block)
  const lines = blocks.flatMap((block) => block.replaceAll('\\\n', ' ').split('\n'))
  const inline = [...text.matchAll(/`(counterfoil [^`]+)`/g)].map(([, words = '']) => words)
  return [...lines, ...inline]
    .map((line) => line.replace(/ +#.*/, '').replace(/^.*?(?=counterfoil )/, ''))
    .filter((line) => /^counterfoil (?!<)/.test(line))
}

/** What the command line would not understand of it, or null. */
function misspelt(line: string, program: Command): string | null {
  const words = line
    .replaceAll(/'[^']*'/g, 'value')
    .split(' ')
    .slice(1)
    .filter((word) => word !== '--help')
  let command = program
  for (const word of words) {
    const next = command.commands.find((one) => one.name() === word)
    if (next === undefined) break
    command = next
  }
  const [first = ''] = words
  if (words.length === 0) return null
  if (command === program) return `there is no command ${first}`
  const group = command.commands.length > 0 && command.registeredArguments.length === 0
  const rest = words.slice(words.indexOf(command.name()) + 1)
  if (group && /^[a-z]/.test(rest[0] ?? '')) return `${command.name()} has no command ${rest[0]}`
  const known = [...command.options, ...program.options].flatMap(({ long, short }) => [long, short])
  const strange = rest.find((word) => word.startsWith('-') && !known.includes(word))
  return strange === undefined ? null : `${command.name()} has no option ${strange}`
}

test('O3 every command that the documents name is there, with its options', () => {
  const program = createProgram({ json: false })
  const wrong = pages.flatMap((page) =>
    commandsIn(page).flatMap((line) => {
      const what = misspelt(line, program)
      return what === null ? [] : [`${page.path}: ${line}: ${what}`]
    }),
  )
  expect(wrong).toEqual([])
  expect(misspelt('counterfoil nothing', program)).toBe('there is no command nothing')
  expect(misspelt('counterfoil store nothing', program)).toBe('store has no command nothing')
  expect(misspelt("counterfoil decide i happened --why 'x'", program)).toMatch('no option --why')
  expect(misspelt("counterfoil decide i happened --reason '--why'", program)).toBe(null)
  expect(misspelt('counterfoil inbox --run r', program)).toBe(null)
})

test('E2 every decision that the documents show names the version that was looked at', () => {
  const decides = /^counterfoil (?:decide|approve|reject|respond) \S+ *\S/
  const blind = pages.flatMap((page) =>
    commandsIn(page)
      .filter((line) => decides.test(line) && !/ --(?:version|yes)\b/.test(line))
      .map((line) => `${page.path}: ${line}`),
  )
  expect(blind).toEqual([])
})

test('O3 docs/library.md has every exported name, and every option of tool and open', async () => {
  const text = pages.find(({ path }) => path === 'docs/library.md')?.text ?? ''
  const parts = text.split(/^## /m)
  const partOf = (name: string) => parts.find((part) => part.startsWith(`\`${name}\``)) ?? ''
  const inCode = (part: string) =>
    [...part.matchAll(/`[^`\n]+`/g)].flatMap(([code]) => code.match(/\w+/g) ?? [])
  const packages = {
    counterfoil,
    'counterfoil/langgraph': langgraph,
    'counterfoil/ai-sdk': aiSdk,
    'counterfoil/store': store,
    'counterfoil/testing': testing,
  }
  const missing = Object.entries(packages).flatMap(([name, all]) => {
    const said = new Set(inCode(partOf(name)))
    return Object.keys(all).filter((one) => !said.has(one))
  })
  expect(missing).toEqual([])
  const said = new Set(inCode(partOf('counterfoil')))
  const options = [...toolOptions(), ...(await openOptions())]
  expect(options.filter((one) => !said.has(one))).toEqual([])
})

/** The rules of a tool are its options with every default filled in. */
function toolOptions(): string[] {
  const made = counterfoil.tool({
    ...{ name: 't', replayClass: 'pure', input: z.object({}), run: () => null },
  })
  return Object.keys(made.rules).filter((one) => one !== 'keyMarginMs')
}

/** As its refusal of another one lists them. */
async function openOptions(): Promise<string[]> {
  const told = await counterfoil
    .open({ nothing: 1 } as never)
    .catch((error: Error) => error.message)
  const [, list = ''] = /the options are (.+)/.exec(String(told)) ?? []
  expect(list).toContain('store')
  return list.split(', ')
}
