// Every error code that src throws has a page under docs/errors, and every page a code.
import { constants } from 'node:os'
import ts from 'typescript'
import { nodes, parse, type Source } from './files.ts'

const PAGE = /^docs\/errors\/(?!README\.)([A-Z0-9_]+)\.md$/
const HEADINGS = ['What happened', 'Why', 'What to do']

/** Compares the codes in the sources with the pages. */
export function checkPages(sources: readonly Source[], pages: readonly Source[]): string[] {
  const documented = new Set(pages.flatMap((page) => PAGE.exec(page.path)?.[1] ?? []))
  const used = codesIn(sources)
  // A page may also document a code that reaches its error by a way we do not follow.
  const spelled = (code: string) => sources.some((source) => source.text.includes(`'${code}'`))
  return [
    ...[...used]
      .filter(([code]) => !documented.has(code))
      .map(([code, path]) => `${path} uses ${code}, and docs/errors/${code}.md is missing`),
    ...[...documented]
      .filter((code) => !spelled(code))
      .map((code) => `docs/errors/${code}.md documents a code that src does not use`),
  ]
}

/** A page says what happened, why, and what to do. */
export function checkHeadings(page: Source): string[] {
  if (!PAGE.test(page.path)) return []
  return HEADINGS.filter((heading) => !new RegExp(`^#+ ${heading}$`, 'm').test(page.text)).map(
    (heading) => `${page.path} has no heading "${heading}"`,
  )
}

/** The codes that errors are made with, each with the first file that uses it. */
export function codesIn(sources: readonly Source[]): Map<string, string> {
  const makers = new Set(sources.flatMap((source) => nodes(parse(source)).flatMap(makerName)))
  const codes = new Map<string, string>()
  for (const source of sources) {
    for (const node of nodes(parse(source))) {
      const place = codePlace(node, makers)
      const found = place === undefined ? [] : literalsIn(place)
      for (const code of found) if (!codes.has(code)) codes.set(code, source.path)
    }
  }
  return codes
}

// A function whose first parameter is called `code` makes an error from it.
function makerName(node: ts.Node): string[] {
  if (!ts.isFunctionLike(node) || node.parameters[0]?.name.getText() !== 'code') return []
  if (node.name !== undefined) return [node.name.getText()]
  return ts.isVariableDeclaration(node.parent) ? [node.parent.name.getText()] : []
}

/** The part of a node that holds the code of an error, if it is one that does. */
function codePlace(node: ts.Node, makers: ReadonlySet<string>): ts.Node | undefined {
  if (ts.isNewExpression(node)) {
    return node.expression.getText().endsWith('Error') ? node.arguments?.[0] : undefined
  }
  if (ts.isCallExpression(node)) {
    const { expression: callee } = node
    const makes = callee.kind === ts.SyntaxKind.SuperKeyword || makers.has(callee.getText())
    return makes ? node.arguments[0] : undefined
  }
  if (ts.isPropertyAssignment(node)) {
    return node.name.getText() === 'code' ? node.initializer : undefined
  }
  if (ts.isPropertySignature(node)) return node.name.getText() === 'code' ? node.type : undefined
  return undefined
}

// ENOENT and its like are the system's.
function literalsIn(place: ts.Node): string[] {
  return nodes(place)
    .filter((node) => ts.isStringLiteralLike(node))
    .map((node) => node.text)
    .filter((text) => /^[A-Z][A-Z0-9_]{2,}$/.test(text) && !(text in constants.errno))
}
