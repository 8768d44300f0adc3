// Holds the repository to its own rules. Every rule comes with files that must fail it, because a
// rule that cannot fail checks nothing.
import { describe, expect, test } from 'vitest'
import { errorCodes } from '../src/model/errors.ts'
import { checkClock } from './tidy/clock.ts'
import { checkCycles } from './tidy/cycles.ts'
import { checkHeadings, checkMade, checkPages } from './tidy/errors.ts'
import { codeUnder, committed, type Rule, type Source } from './tidy/files.ts'
import { checkImports, checkOnlyReexports } from './tidy/layers.ts'
import { checkPaths, checkRegistry } from './tidy/machine.ts'
import * as style from './tidy/style.ts'

interface Checked {
  name: string
  rule: Rule
  files: Source[]
  /** Each of these must be complained about. */
  bad: Source[]
  /** Each of these must not. */
  good?: Source[]
}

function source(path: string, text: string): Source {
  return { path, text }
}

/** One file for each import, to try a single rule of the layers. */
function imports(...pairs: [path: string, specifier: string][]): Source[] {
  return pairs.map(([path, specifier]) => source(path, `import { a } from '${specifier}'\n`))
}

const src = codeUnder('src')
const scripts = codeUnder('scripts')
const examples = codeUnder('examples')
const bench = codeUnder('bench')
const tests = codeUnder('test')
const web = codeUnder('console/src')
const all = committed()
const code = [...src, ...scripts, ...examples, ...bench, ...tests, ...web]
const typed = (files: Source[]) => files.filter((file) => !file.path.endsWith('.sql'))

const longFunction = `export function long() {\n${'  work()\n'.repeat(69)}}\n`
const dashes = '-'.repeat(10)

const layers: Checked[] = [
  {
    name: 'every layer imports only what it may',
    rule: checkImports,
    files: typed(src),
    bad: [
      ...imports(
        ['src/model/tool.ts', '../engine/gate.ts'],
        ['src/model/tool.ts', 'node:fs'],
        ['src/model/tool.ts', 'node:crypto'],
        ['src/clock.ts', './store/store.ts'],
        ['src/store/store.ts', './sqlite/index.ts'],
        ['src/store/store.ts', '../engine/gate.ts'],
        ['src/store/sqlite/index.ts', '../memory/index.ts'],
        ['src/store/sqlite/index.ts', '../../engine/gate.ts'],
        ['src/store/memory/index.ts', 'better-sqlite3'],
        ['src/engine/gate.ts', '../worker/worker.ts'],
        ['src/engine/gate.ts', '../store/sqlite/index.ts'],
        ['src/engine/gate.ts', 'zod'],
        ['src/worker/claim.ts', '../client/client.ts'],
        ['src/client/client.ts', '../engine/gate.ts'],
        ['src/server/routes.ts', '../engine/gate.ts'],
        ['src/adapters/mcp.ts', '../engine/gate.ts'],
        ['src/adapters/mcp.ts', '../client/inbox.ts'],
        ['src/cli/main.ts', '../testing/index.ts'],
        ['src/cli/main.ts', 'counterfoil/testing'],
        ['src/open.ts', './testing/index.ts'],
        ['src/index.ts', './testing/index.ts'],
        ['src/cli/main.ts', '../../scripts/setup.mjs'],
        ['src/nowhere/file.ts', '../model/tool.ts'],
      ),
      source('src/model/a.ts', "export * from '../engine/gate.ts'"),
      source('src/model/a.ts', "export { a } from '../engine/gate.ts'"),
      source('src/model/a.ts', "import '../engine/gate.ts'"),
      source('src/model/a.ts', "import type { A } from '../engine/gate.ts'"),
      source('src/model/a.ts', "const a = await import('../engine/gate.ts')"),
      source('src/model/a.ts', "let a: import('../engine/gate.ts').A"),
      source('src/model/a.ts', "const a = require('node:fs')"),
    ],
    good: [
      ...imports(
        ['src/model/tool.ts', './errors.ts'],
        ['src/model/tool.ts', '../clock.ts'],
        ['src/model/json/canonical.ts', 'node:crypto'],
        ['src/store/store.ts', '../model/records.ts'],
        ['src/store/sqlite/index.ts', 'better-sqlite3'],
        ['src/store/sqlite/index.ts', '../store.ts'],
        ['src/store/sqlite/index.ts', './open.ts'],
        ['src/engine/gate.ts', '../clock.ts'],
        ['src/worker/claim.ts', '../engine/gate.ts'],
        ['src/client/client.ts', '../store/store.ts'],
        ['src/server/routes.ts', '../client/client.ts'],
        ['src/adapters/mcp.ts', '../index.ts'],
        ['src/adapters/mcp.ts', '../model/tool.ts'],
        ['src/testing/index.ts', '../engine/gate.ts'],
        ['src/cli/main.ts', '../worker/worker.ts'],
      ),
      source('src/model/a.ts', "// import '../engine/gate.ts'"),
    ],
  },
  {
    name: 'index.ts only re-exports',
    rule: checkOnlyReexports,
    files: src.filter((file) => file.path === 'src/index.ts'),
    bad: ['const a = 1', 'export const a = 1', "import { a } from './a.ts'", 'export {}'].map(
      (text) => source('src/index.ts', text),
    ),
    good: [source('src/index.ts', "export { a } from './a.ts'\nexport type { B } from './b.ts'")],
  },
  {
    name: 'time, randomness and timers come from clock.ts',
    rule: checkClock,
    files: typed(src).filter((file) => file.path !== 'src/clock.ts'),
    bad: [
      ...['Date.now()', 'const now = Date.now', 'Math.random()', 'performance.now()', 'new Date()'],
      ...['process.hrtime()', 'process.hrtime.bigint()', 'globalThis.performance.now()', 'Date()'],
      ...['setTimeout(f, 1)', 'setInterval(f, 1)', 'setImmediate(f)', 'globalThis.setTimeout(f)'],
      ...['randomUUID()', 'crypto.randomUUID()', "import { randomUUID as a } from 'node:crypto'"],
      ...["import { setTimeout as s } from 'node:timers/promises'", 'AbortSignal.timeout(5)'],
      ...['randomBytes(8)', 'crypto.getRandomValues(a)'],
    ].map((text) => source('src/engine/a.ts', text)),
    good: [
      ...['clock.now()', 'new Date(ms)', 'clock.setTimeout(f, 1)', '// Date.now()', "'Date.now()'"],
      ...['Date.parse(text)', 'Math.max(1, 2)', 'clearTimeout(timer)'],
    ].map((text) => source('src/engine/a.ts', text)),
  },
]

const page: Checked[] = [
  {
    name: 'the console asks the browser for time and chance in one place',
    rule: checkClock,
    files: web.filter((file) => file.path !== 'console/src/clock.ts'),
    bad: [source('console/src/a.tsx', 'Date.now()')],
    good: [source('console/src/a.tsx', 'now.value')],
  },
  {
    name: 'what a model wrote is never markup',
    rule: style.checkMarkup,
    files: web,
    bad: [
      '<p dangerouslySetInnerHTML={{ __html: text }} />',
      ...['node.innerHTML = text', "node['outerHTML'] = text", 'document.write(text)'],
      ...['node.insertAdjacentHTML("x", text)', 'new Function(text)', 'eval(text)'],
      ...['<a href={"javascript:" + text} />', 'frame.srcdoc = text', 'new DOMParser()'],
    ].map((text) => source('console/src/a.tsx', text)),
    good: [source('console/src/a.tsx', '<p>{text}</p>')],
  },
]

const sizes: Checked[] = [
  {
    name: 'a file has at most 400 lines',
    rule: style.checkLines(400),
    files: [...src, ...scripts, ...examples, ...bench, ...web],
    bad: [source('src/a.ts', 'a\n'.repeat(401))],
    good: [source('src/a.ts', 'a\n'.repeat(400))],
  },
  {
    name: 'a test file has at most 600 lines',
    rule: style.checkLines(600),
    files: tests,
    bad: [source('test/a.test.ts', 'a\n'.repeat(601))],
    good: [source('test/a.test.ts', 'a\n'.repeat(600))],
  },
  {
    name: 'a function has at most 70 lines',
    rule: style.checkFunctions,
    files: typed([...src, ...scripts, ...web]),
    bad: [
      source('src/a.ts', longFunction.replace('{\n', '{\n  work()\n')),
      source('src/a.ts', `const long = () => {\n${'  work()\n'.repeat(69)}}\n`.replace('}', '\n}')),
      source('src/a.ts', `class A {\n  long() {\n${'    work()\n'.repeat(69)}\n  }\n}\n`),
    ],
    good: [source('src/a.ts', `/**\n * Long.\n */\n${longFunction.replace('  work()\n', '')}`)],
  },
  {
    name: 'a line has at most 100 columns',
    rule: style.checkColumns,
    files: [...src, ...scripts, ...tests, ...web],
    bad: [source('src/a.ts', `first\n${'a'.repeat(101)}\nlast`)],
    good: [source('src/a.ts', `${'a'.repeat(100)}\n${'😀'.repeat(100)}`)],
  },
]

const habits: Checked[] = [
  {
    name: 'no work is left behind in comments',
    rule: style.checkLeftovers,
    files: code,
    bad: ['// TO\u0044O: later', '// FIX\u004dE', '/* X\u0058X */', '# HA\u0043K'].map((text) =>
      source('src/a.ts', text),
    ),
    good: [source('src/a.ts', '// mktemp XXXXXX, todos, hackney')],
  },
  {
    name: 'no comment is a banner',
    rule: style.checkBanners,
    files: code,
    bad: [
      ...[`// ${dashes}`, `// ${dashes} Stores ${dashes}`, `// Stores ${'='.repeat(12)}`],
      ...[`/${'*'.repeat(11)}`, ` * ${'#'.repeat(10)}`, '#'.repeat(10), '-'.repeat(10)],
      '/'.repeat(20),
    ].map((text) => source('src/a.ts', text)),
    good: ['// a -- b', "const line = '-'.repeat(10)", '/** Says why. */', '-- a view'].map(
      (text) => source('src/a.ts', text),
    ),
  },
  {
    name: 'no test is focused or left out',
    rule: style.checkFocus,
    files: typed(tests),
    bad: [
      "test.only('a', f)",
      "it.skip('a', f)",
      "describe.skip('a', f)",
      "test.only.each([1])('a', f)",
      "test.concurrent.skip('a', f)",
    ].map((text) => source('test/a.test.ts', text)),
    good: ["test('only a', f)", "test.each([1])('a', f)", 'reader.skip(4)'].map((text) =>
      source('test/a.test.ts', text),
    ),
  },
  {
    name: 'no registry is named in what npm reads',
    rule: checkRegistry,
    files: all,
    bad: [
      source('.npmrc', 'registry=https://npm.example.com/'),
      source('.npmrc', '@acme:registry = https://npm.example.com/'),
      source('package-lock.json', '"resolved": "https://registry.npmjs.org/a/-/a-1.0.0.tgz"'),
      source('console/package-lock.json', '"resolved": "https://npm.example.com/a-1.0.0.tgz"'),
    ],
    good: [source('.npmrc', 'omit-lockfile-registry-resolved=true\nfund=false')],
  },
  {
    name: 'no path of one machine is committed',
    rule: checkPaths,
    files: all,
    bad: [
      source('README.md', `see ${['', 'work', 'main'].join('/')}`),
      source('a.json', `{"file":"${['', 'work', 'main'].join('/')}"}`),
    ],
    good: [source('README.md', 'see docs/work/main.md')],
  },
]

const errors: Checked[] = [
  {
    name: 'a page about an error says what happened, why, and what to do',
    rule: checkHeadings,
    files: all,
    bad: [
      source('docs/errors/REFUSED.md', '# REFUSED\n\n## What happened\n\n## Why\n'),
      source('docs/errors/REFUSED.md', 'What happened\nWhy\nWhat to do\n'),
    ],
    good: [source('docs/errors/REFUSED.md', '## What happened\n\n## Why\n\n## What to do\n')],
  },
  {
    name: 'an error is worded in the table of errors',
    rule: checkMade,
    files: typed(src),
    bad: [
      source('src/a.ts', "throw new CounterfoilError('RUN_LOST', message)"),
      source('src/a.ts', "return new CounterfoilError(\n    'RUN_LOST',\n    message)"),
    ],
    good: [
      source('src/a.ts', "throw errorFor('RUN_LOST', runId)"),
      source('src/a.ts', 'throw new CounterfoilError<string>(told.code, told.message)'),
      source('src/model/errors/a.ts', "new CounterfoilError('RUN_LOST', message)"),
    ],
  },
]

describe.each([...layers, ...page, ...sizes, ...habits, ...errors])('tidy: $name', (checked) => {
  test('holds everywhere', () => {
    expect(checked.files.flatMap((file) => checked.rule(file))).toEqual([])
  })

  test('can fail, and only where it should', () => {
    const missed = checked.bad.filter((file) => checked.rule(file).length === 0)
    expect(missed).toEqual([])
    expect((checked.good ?? []).flatMap((file) => checked.rule(file))).toEqual([])
  })
})

describe('tidy: a folder has at most 20 files of code side by side', () => {
  test('holds everywhere', () => {
    expect(style.checkFolders(20, code)).toEqual([])
  })

  test('can fail, and only where it should', () => {
    const files = (n: number) => Array.from({ length: n }, (_, i) => source(`src/a/${i}.ts`, ''))
    expect(style.checkFolders(20, [...files(21), source('src/b/1.ts', '')])).toHaveLength(1)
    expect(style.checkFolders(20, [...files(20), source('src/a/deep/1.ts', '')])).toEqual([])
  })
})

describe('tidy: no import cycle', () => {
  const [a, b, c] = ['src/a.ts', 'src/b.ts', 'src/deep/c.ts'] as const
  const back = source(b, "import { a } from './a.ts'")
  const pair = [source(a, "import { b } from './b.ts'"), back]

  test('holds everywhere', () => {
    expect(checkCycles(typed(src))).toEqual([])
  })

  test.each([
    "import { b } from './b.ts'",
    "import './b.ts'",
    "import type { B } from './b.ts'",
    "import { type B } from './b.ts'",
    "import { b } from './b.js'",
    "export { b } from './b.ts'",
    "export type { B } from './b.ts'",
    "export * from './b.ts'",
    "const b = await import('./b.ts')",
    "let b: import('./b.ts').B",
    "import { b } from '../src/b.ts'",
  ])('finds a file that comes back by %s', (text) => {
    expect(checkCycles([source(a, text), back])).toHaveLength(1)
    expect(checkCycles([source(a, text), source(b, 'export const b = 1')])).toEqual([])
  })

  test('finds long ways back, itself, and each knot once', () => {
    const way = [
      source(a, "import { b } from './b.ts'"),
      source(b, "import { c } from './deep/c.ts'"),
      source(c, "import type { A } from '../a.ts'"),
    ]
    expect(checkCycles(way)).toEqual([expect.stringContaining(`${a}, ${b}, ${c}: `)])
    expect(checkCycles([source(a, "import { a } from './a.ts'")])).toHaveLength(1)
    const index = source('src/index.ts', "export * from './a.ts'")
    expect(checkCycles([index, source(a, "import { b } from 'counterfoil'")])).toHaveLength(1)
    const others = ['x', 'y'].map((name, i) =>
      source(`src/${name}.ts`, `import './${['y', 'x'][i]}.ts'`),
    )
    expect(checkCycles([...pair, ...others])).toHaveLength(2)
  })

  test('leaves alone what is imported twice, is not there, or is a comment', () => {
    const twice = [
      source(a, "import { b } from './b.ts'\nimport { c } from './deep/c.ts'"),
      source(b, "import { c } from './deep/c.ts'\nimport { z } from './z.ts'"),
      source(c, "import fs from 'node:fs'\n// import '../a.ts'"),
    ]
    expect(checkCycles(twice)).toEqual([])
  })
})

describe('tidy: every error code has a page, every page a code, and every code a use', () => {
  const page = (name: string) => source(`docs/errors/${name}.md`, '')
  const uses = source('src/a.ts', "throw errorFor('RUN_LOST', runId)")

  test('holds everywhere', () => {
    const pages = all.filter((file) => file.path.startsWith('docs/errors/'))
    expect(checkPages(errorCodes, pages, typed(src))).toEqual([])
    expect(errorCodes.length).toBeGreaterThan(100)
  })

  test('can fail in every way, and only where it should', () => {
    const lost = [page('RUN_LOST'), page('README')]
    expect(checkPages(['RUN_LOST'], lost, [uses])).toEqual([])
    expect(checkPages(['RUN_LOST'], [], [uses])).toHaveLength(1)
    expect(checkPages([], lost, [uses])).toHaveLength(1)
    expect(checkPages(['RUN_LOST'], [...lost, page('RUN_FOUND')], [uses])).toHaveLength(1)
    expect(checkPages(['RUN_LOST', 'RUN_LOST'], lost, [uses])).toHaveLength(1)
  })

  test.each([
    ['src/a.ts', "'RUN_LOST_TWICE'"],
    ['src/model/errors/runs.ts', 'RUN_LOST: () => ({})'],
  ])('finds no use in %s: %s', (path, text) => {
    expect(checkPages(['RUN_LOST'], [page('RUN_LOST')], [source(path, text)])).toHaveLength(1)
  })

  test.each([
    ['src/a.ts', "const what = { code: 'RUN_LOST' }"],
    ['src/store/a.ts', 'const templates = { RUN_LOST: { says } }'],
    ['src/model/errors/classes.ts', "super('RUN_LOST', message)"],
  ])('finds the use in %s: %s', (path, text) => {
    expect(checkPages(['RUN_LOST'], [page('RUN_LOST')], [source(path, text)])).toEqual([])
  })
})

test('tidy: the rules find the files they are for', () => {
  expect(all.map((file) => file.path)).toContain('package.json')
  expect(tests.map((file) => file.path)).toContain('test/tidy.test.ts')
  expect(scripts.map((file) => file.path)).toContain('scripts/setup.mjs')
  expect(web.map((file) => file.path)).toContain('console/src/app.tsx')
})
