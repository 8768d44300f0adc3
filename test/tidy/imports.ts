// What a file imports, in whatever way: as a type, by a re-export, or while it runs.
import ts from 'typescript'
import { lineOf, nodes, parse, type Source } from './files.ts'

export function specifiers(source: Source): { text: string; line: number }[] {
  return nodes(parse(source)).flatMap((node) => {
    const specifier = specifierOf(node)
    if (specifier === undefined || !ts.isStringLiteralLike(specifier)) return []
    return [{ text: specifier.text, line: lineOf(specifier) }]
  })
}

function specifierOf(node: ts.Node): ts.Node | undefined {
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return node.moduleSpecifier
  if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) return node.argument.literal
  if (!ts.isCallExpression(node)) return undefined
  const { expression: callee } = node
  const loads =
    callee.kind === ts.SyntaxKind.ImportKeyword ||
    (ts.isIdentifier(callee) && callee.text === 'require')
  return loads ? node.arguments[0] : undefined
}
