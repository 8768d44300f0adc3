// Prints every requirement with the tests that cite it, and fails where claims and tests disagree.
//
// A test cites ids at the head of its name: `test('A1 …')`, `it('C2, C5 …')`, `test('B3–B5 …')`; a
// dash is a range. `I<number>` is always an invariant of the design. A skipped test cites nothing.
// Where the page of all requirements lies beside the clone, ids that only one of the two knows are
// named as well.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import ts from 'typescript'

/** @typedef {{ file: string, name: string }} Citation */
/** @typedef {Map<string, Citation[]>} Citations */
/**
 * @typedef {object} Requirements
 * @property {string[]} claimed ids that the project says it meets
 * @property {Record<string, string>} partial ids that are met in part, and which part is missing
 * @property {Record<string, string>} all id and title of every requirement
 * @property {Record<string, string>} sections letter and title
 * @property {Record<string, string>} invariants id and title
 */

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const ID = /^([A-Z])(\d+)(?!\w)/
const INVARIANT = 'I'
const BETWEEN = /^(?:\s*([–-])\s*|\s*,\s*(?:and\s+)?|\s+(?:and\s+)?)(?=[A-Z]\d+(?!\w))/

/**
 * The ids at the head of a test's name. Only letters of known sections count: "S3 …" is a name.
 * @param {string} name
 * @param {string} letters
 */
export function idsAtHead(name, letters) {
  /** @type {string[]} */
  const ids = []
  let rest = name
  let from = 0
  for (let match = ID.exec(rest); match; match = ID.exec(rest)) {
    const [text, letter = '', digits] = match
    if (!letters.includes(letter)) break
    const number = Number(digits)
    for (let n = from || number; n < number; n++) ids.push(`${letter}${n}`)
    ids.push(`${letter}${number}`)
    rest = rest.slice(text.length)
    const between = BETWEEN.exec(rest)
    if (!between) break
    rest = rest.slice(between[0].length)
    from = between[1] !== undefined && rest.startsWith(letter) ? number + 1 : 0
  }
  return ids
}

/**
 * The names of the tests in a source text, as far as they are written in it: of a template, what
 * comes before its first hole.
 * @param {string} text
 */
export function testNames(text) {
  const source = ts.createSourceFile('test.ts', text, ts.ScriptTarget.Latest)
  /** @type {string[]} */
  const names = []
  /** @param {ts.Node} node */
  const visit = (node) => {
    const name = ts.isCallExpression(node) && isTest(node.expression) && nameOf(node.arguments[0])
    if (name) names.push(name)
    ts.forEachChild(node, visit)
  }
  visit(source)
  return names
}

// `test`, `it`, and what hangs on them, such as `test.each(…)`.
/**
 * @param {ts.Expression} callee
 * @returns {boolean}
 */
function isTest(callee) {
  if (ts.isIdentifier(callee)) return callee.text === 'test' || callee.text === 'it'
  if (ts.isPropertyAccessExpression(callee)) {
    return !['skip', 'todo'].includes(callee.name.text) && isTest(callee.expression)
  }
  if (ts.isCallExpression(callee)) return isTest(callee.expression)
  return ts.isTaggedTemplateExpression(callee) && isTest(callee.tag)
}

/** @param {ts.Expression | undefined} argument */
function nameOf(argument) {
  if (!argument) return undefined
  if (ts.isStringLiteralLike(argument)) return argument.text
  return ts.isTemplateExpression(argument) ? `${argument.head.text}…` : undefined
}

/**
 * @param {string} root
 * @param {string} letters
 */
function collect(root, letters) {
  /** @type {Citations} */
  const citations = new Map()
  const folder = join(root, 'test')
  const files = existsSync(folder) ? readdirSync(folder, { recursive: true }).map(String) : []
  for (const file of files.filter((name) => name.endsWith('.test.ts')).sort()) {
    for (const name of testNames(readFileSync(join(folder, file), 'utf8'))) {
      for (const id of idsAtHead(name, letters)) {
        citations.set(id, [...(citations.get(id) ?? []), { file: `test/${file}`, name }])
      }
    }
  }
  return citations
}

/**
 * @param {Requirements} requirements
 * @param {Citations} citations
 */
export function problemsOf(requirements, citations) {
  const { claimed, partial, all, invariants } = requirements
  /** @type {string[]} */
  const problems = []
  for (const id of claimed) {
    if (!(id in all)) problems.push(`${id} is claimed and no requirement has this id`)
    else if (!citations.has(id)) problems.push(`${id} is claimed and no test cites it`)
  }
  for (const id of claimed.filter((id, i) => claimed.indexOf(id) < i || id in partial)) {
    problems.push(`${id} is listed twice: it is claimed once, or met in part`)
  }
  for (const id of Object.keys(partial).filter((id) => !(id in all))) {
    problems.push(`${id} is met in part and no requirement has this id`)
  }
  for (const id of Object.keys(all).filter((id) => id.startsWith(INVARIANT))) {
    problems.push(`${id} is listed as a requirement: ${INVARIANT} and a number is an invariant`)
  }
  for (const [id, tests] of citations) {
    const more = tests.length > 1 ? ` and ${tests.length - 1} more` : ''
    const where = `${tests[0]?.file}: ${tests[0]?.name}${more}`
    if (id.startsWith(INVARIANT)) {
      if (!(id in invariants)) problems.push(`${id} is cited and no invariant has it (${where})`)
    } else if (!(id in all)) problems.push(`${id} is cited and no requirement has it (${where})`)
    else if (!claimed.includes(id) && !(id in partial))
      problems.push(`${id} is cited and not claimed (${where})`)
  }
  return problems
}

/**
 * What the page of all requirements and our list do not share. It belongs to others and may be
 * ahead of this commit: it is told, and is no problem.
 * @param {string} page
 * @param {Record<string, string>} all
 */
export function differencesOf(page, all) {
  const ids = [...page.matchAll(/\*\*([A-Z]\d+)\*\*/g)].map(([, id = '']) => id)
  return [
    ...ids.filter((id) => !(id in all)).map((id) => `${id} is not in docs/requirements.json`),
    ...Object.keys(all)
      .filter((id) => !ids.includes(id))
      .map((id) => `${id} is only in docs/requirements.json`),
  ]
}

/**
 * @param {string} id
 * @param {string} title
 * @param {string} mark
 * @param {Citation[]} tests
 */
function entry(id, title, mark, tests) {
  const lines = tests.map((test) => `          ${test.file}: ${test.name}`)
  return [`  ${mark} ${id.padEnd(4)} ${title}`, ...lines]
}

/**
 * @param {Requirements} requirements
 * @param {Citations} citations
 */
function report({ claimed, partial, all, sections, invariants }, citations) {
  /** @type {string[]} */
  const lines = []
  for (const [letter, title] of Object.entries(sections)) {
    lines.push('', `${letter}. ${title}`)
    for (const [id, text] of Object.entries(all).filter(([id]) => id.startsWith(letter))) {
      const mark = claimed.includes(id) ? 'claimed' : id in partial ? 'in part' : '       '
      lines.push(...entry(id, text, mark, citations.get(id) ?? []))
    }
  }
  lines.push('', 'Invariants of the design (cited as I<number>)')
  for (const [id, text] of Object.entries(invariants)) {
    const tests = citations.get(id) ?? []
    lines.push(...entry(id, text, tests.length > 0 ? 'cited  ' : '       ', tests))
  }
  return lines
}

function main() {
  /** @type {Requirements} */
  const requirements = JSON.parse(readFileSync(join(ROOT, 'docs/requirements.json'), 'utf8'))
  const letters = `${Object.keys(requirements.sections).join('')}${INVARIANT}`
  const citations = collect(ROOT, letters)
  const problems = problemsOf(requirements, citations)
  const tests = new Set([...citations.values()].flat().map((test) => `${test.file}\n${test.name}`))
  const invariants = Object.keys(requirements.invariants)
  const ids = Object.keys(requirements.all)
  const lines = report(requirements, citations)
  const page = join(ROOT, '../shared/REQUIREMENTS.md')
  const other = existsSync(page) ? readFileSync(page, 'utf8') : null
  const differences = other === null ? [] : differencesOf(other, requirements.all)
  if (differences.length > 0) lines.push('', page, ...differences.map((line) => `  ${line}`))
  if (problems.length > 0) lines.push('', 'Problems', ...problems.map((line) => `  ${line}`))
  lines.push(
    '',
    `${ids.length} requirements, ${requirements.claimed.length} claimed; ` +
      `${invariants.filter((id) => citations.has(id)).length} of ${invariants.length} invariants ` +
      `cited; ${tests.size} citing tests; problems: ${problems.length}`,
  )
  process.stdout.write(`${lines.join('\n')}\n`)
  process.exitCode = problems.length > 0 ? 1 : 0
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) main()
