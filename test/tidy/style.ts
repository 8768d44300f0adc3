// Sizes and habits.
import { posix } from 'node:path'
import ts from 'typescript'
import { at, lineOf, linesMatching, nodes, parse, type Rule, type Source } from './files.ts'

const FUNCTION_LINES_MAX = 70
const COLUMNS_MAX = 100

/** A file has at most so many lines. */
export function checkLines(linesMax: number): Rule {
  return (source) => {
    const lines = source.text.replace(/\n$/, '').split('\n').length
    return lines > linesMax ? [`${source.path} has ${lines} lines, ${linesMax} at most`] : []
  }
}

/** A folder is a room that one can look over. */
export function checkFolders(filesMax: number, files: readonly Source[]): string[] {
  const counts = new Map<string, number>()
  for (const { path } of files) {
    const room = posix.dirname(path)
    counts.set(room, (counts.get(room) ?? 0) + 1)
  }
  return [...counts]
    .filter(([, count]) => count > filesMax)
    .map(([room, count]) => `${room} has ${count} files side by side, ${filesMax} at most`)
}

/** A function fits a screen. */
export function checkFunctions(source: Source): string[] {
  return nodes(parse(source)).flatMap((node) => {
    if (!ts.isFunctionLike(node) || !('body' in node) || node.body === undefined) return []
    const file = node.getSourceFile()
    const end = file.getLineAndCharacterOfPosition(node.getEnd()).line + 1
    const lines = end - lineOf(node) + 1
    if (lines <= FUNCTION_LINES_MAX) return []
    const name = node.name?.getText() ?? 'a function'
    return [at(source, lineOf(node), `${name} has ${lines} lines, ${FUNCTION_LINES_MAX} at most`)]
  })
}

/** A line has at most 100 columns. */
export function checkColumns(source: Source): string[] {
  const long = new RegExp(`^.{${COLUMNS_MAX + 1},}`, 'u')
  return linesMatching(source, long, `has more than ${COLUMNS_MAX} columns`)
}

/** Nothing is left for later in a comment; an issue holds what is to be done. */
export function checkLeftovers(source: Source): string[] {
  const words = ['TO' + 'DO', 'FIX' + 'ME', 'X' + 'XX', 'HA' + 'CK']
  return linesMatching(source, new RegExp(`\\b(?:${words.join('|')})\\b`), 'leaves work behind')
}

/** No comment is an ornament. */
export function checkBanners(source: Source): string[] {
  const banner = /^\s*(?:(?:\/\/|\/\*|\*|#|--).*?([-=*#])\1{9,}|([-=*#/])\2{9,}|\/\*{10,})/
  return linesMatching(source, banner, 'is a banner')
}

/** Text stays text: nothing that makes markup or code of it is used. */
export function checkMarkup(source: Source): string[] {
  const markup =
    /dangerouslySetInnerHTML|(?:inner|outer)HTML|insertAdjacentHTML|document\.write|srcdoc/
  const made = /\bDOMParser\b|\beval\(|new Function\(|javascript:/
  const pattern = new RegExp(`${markup.source}|${made.source}`)
  return linesMatching(source, pattern, 'makes markup or code of text')
}

/** No test is left out, and none keeps the others out. */
export function checkFocus(source: Source): string[] {
  return nodes(parse(source)).flatMap((node) => {
    if (!ts.isPropertyAccessExpression(node)) return []
    if (!['only', 'skip'].includes(node.name.text)) return []
    if (!['test', 'it', 'describe', 'suite'].includes(rootOf(node))) return []
    return [at(source, lineOf(node), `${node.getText()} keeps tests from running`)]
  })
}

function rootOf(node: ts.Expression): string {
  if (ts.isPropertyAccessExpression(node) || ts.isCallExpression(node)) {
    return rootOf(node.expression)
  }
  return node.getText()
}
