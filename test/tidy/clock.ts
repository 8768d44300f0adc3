// Time, randomness and ids come from src/clock.ts alone, so that tests can own them.
import ts from 'typescript'
import { at, lineOf, nodes, parse, type Source } from './files.ts'

const MEMBERS = [
  ...['Date.now', 'Math.random', 'performance.now', 'process.hrtime', 'AbortSignal.timeout'],
  ...['crypto.getRandomValues', 'webcrypto.getRandomValues'],
]
const TIMERS = ['setTimeout', 'setInterval', 'setImmediate']
const NAMES = ['randomUUID', 'randomBytes', 'randomInt']
const MODULES = ['timers', 'timers/promises', 'perf_hooks']
const GLOBALS = ['globalThis', 'global']

/** Nothing but clock.ts asks the machine for time, chance or a timer. */
export function checkClock(source: Source): string[] {
  return nodes(parse(source)).flatMap((node) => {
    const name = forbiddenName(node)
    return name === undefined ? [] : [at(source, lineOf(node), `${name} belongs to src/clock.ts`)]
  })
}

function forbiddenName(node: ts.Node): string | undefined {
  if (ts.isPropertyAccessExpression(node)) return forbiddenMember(node)
  if (ts.isIdentifier(node)) return NAMES.includes(node.text) ? node.text : undefined
  if (ts.isNewExpression(node) || ts.isCallExpression(node)) return forbiddenCall(node)
  if (ts.isImportDeclaration(node) && ts.isStringLiteral(node.moduleSpecifier)) {
    const module = node.moduleSpecifier.text.replace(/^node:/, '')
    return MODULES.includes(module) ? `the module ${module}` : undefined
  }
  return undefined
}

function forbiddenMember(node: ts.PropertyAccessExpression): string | undefined {
  const object = ts.isPropertyAccessExpression(node.expression)
    ? node.expression.name.text
    : node.expression.getText()
  const member = `${object}.${node.name.text}`
  if (MEMBERS.includes(member)) return member
  return GLOBALS.includes(object) && TIMERS.includes(node.name.text) ? member : undefined
}

function forbiddenCall(node: ts.NewExpression | ts.CallExpression): string | undefined {
  if (!ts.isIdentifier(node.expression)) return undefined
  const name = node.expression.text
  if (TIMERS.includes(name)) return name
  const empty = (node.arguments ?? []).length === 0
  return name === 'Date' && empty ? 'the current date' : undefined
}
