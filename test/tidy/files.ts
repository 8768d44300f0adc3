// The files of the repository, as the rules see them.
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

/** A file by its path from the root of the repository, with `/` between folders. */
export interface Source {
  path: string
  text: string
}

/** Says what is wrong with a file, each line beginning with its path; nothing if all is well. */
export type Rule = (source: Source) => string[]

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const TEXT = /(?:\.(?:ts|mts|mjs|js|json|sql|md|yml|yaml|html|css|svg|txt|sh)|(?:^|\/)[^./]+|rc)$/
const NEVER = /(?:^|\/)(?:node_modules|dist|coverage|\.git|\.setup-lock[^/]*)\//

function readSource(path: string): Source {
  return { path, text: readFileSync(join(ROOT, path), 'utf8') }
}

/** Files with code below a folder; none if the folder does not exist. */
export function codeUnder(folder: string): Source[] {
  const root = join(ROOT, folder)
  if (!existsSync(root)) return []
  return readdirSync(root, { recursive: true })
    .map((name) => `${folder}/${String(name).replaceAll('\\', '/')}`)
    .filter((path) => /\.(?:ts|tsx|mts|mjs|js|sql)$/.test(path) && !NEVER.test(path))
    .sort()
    .map(readSource)
}

/** Text files that are, or will be, committed; in a folder without git, all of them. */
export function committed(): Source[] {
  return committedPaths()
    .filter((path) => TEXT.test(path) && !NEVER.test(path))
    .filter((path) => statSync(join(ROOT, path), { throwIfNoEntry: false })?.isFile())
    .map(readSource)
}

function committedPaths(): string[] {
  const args = ['ls-files', '-z', '--cached', '--others', '--exclude-standard']
  try {
    const options = { cwd: ROOT, encoding: 'utf8', stdio: 'pipe' } as const
    return execFileSync('git', args, options).split('\0').filter(Boolean)
  } catch {
    const names = readdirSync(ROOT).filter((name) => !NEVER.test(`${name}/`))
    return names.flatMap((name) =>
      statSync(join(ROOT, name)).isDirectory()
        ? readdirSync(join(ROOT, name), { recursive: true }).map((inner) => `${name}/${inner}`)
        : [name],
    )
  }
}

/** A complaint about a place in a file. */
export function at(source: Source, line: number, what: string): string {
  return `${source.path}:${line} ${what}`
}

/** The lines that a pattern matches, as complaints. */
export function linesMatching(source: Source, pattern: RegExp, what: string): string[] {
  return source.text
    .split('\n')
    .flatMap((line, index) => (pattern.test(line) ? [at(source, index + 1, what)] : []))
}

const parsed = new Map<string, ts.SourceFile>()

export function parse(source: Source): ts.SourceFile {
  const known = parsed.get(source.path)
  if (known?.text === source.text) return known
  const file = ts.createSourceFile(source.path, source.text, ts.ScriptTarget.Latest, true)
  parsed.set(source.path, file)
  return file
}

/** A node and all below it, depth first. */
export function nodes(node: ts.Node): ts.Node[] {
  const found = [node]
  ts.forEachChild(node, (child) => {
    found.push(...nodes(child))
  })
  return found
}

export function lineOf(node: ts.Node): number {
  return node.getSourceFile().getLineAndCharacterOfPosition(node.getStart()).line + 1
}
