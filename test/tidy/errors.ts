// Every error code of the table has a page under docs/errors, every page a code, and every code
// something in src that says it.
import type { Source } from './files.ts'

const PAGE = /^docs\/errors\/(?!README\.)([A-Z0-9_]+)\.md$/
const HEADINGS = ['What happened', 'Why', 'What to do']
// The classes are what throws their codes; the other files there say only what there is.
const TABLE = /^src\/model\/errors\/(?!classes\.ts$)/

/** Compares the codes with the pages, and with what the sources say. */
export function checkPages(
  codes: readonly string[],
  pages: readonly Source[],
  sources: readonly Source[],
): string[] {
  const documented = pages.flatMap((page) => PAGE.exec(page.path)?.[1] ?? [])
  const said = new Set(
    sources
      .filter(({ path }) => !TABLE.test(path))
      .flatMap(({ text }) => text.match(/\b[A-Z][A-Z0-9_]{2,}\b/g) ?? []),
  )
  return [
    ...codes
      .filter((code) => !documented.includes(code))
      .map((code) => `docs/errors/${code}.md is missing`),
    ...documented
      .filter((code) => !codes.includes(code))
      .map((code) => `docs/errors/${code}.md documents a code that is not in the table`),
    ...codes
      .filter((code) => !said.has(code))
      .map((code) => `${code} is in the table, and nothing in src says it`),
    ...codes
      .filter((code, i) => codes.indexOf(code) !== i)
      .map((code) => `${code} is in the table twice`),
  ]
}

/** What an error with a code of ours says stands in the table: nobody words one beside it. */
export function checkMade(source: Source): string[] {
  if (source.path.startsWith('src/model/errors/')) return []
  const made = source.text.matchAll(/\bnew CounterfoilError\(\s*['"`]([A-Z0-9_]+)/g)
  return [...made].map(([, code]) => `${source.path} words ${code} itself; use errorFor('${code}')`)
}

/** A page says what happened, why, and what to do. */
export function checkHeadings(page: Source): string[] {
  if (!PAGE.test(page.path)) return []
  return HEADINGS.filter((heading) => !new RegExp(`^#+ ${heading}$`, 'm').test(page.text)).map(
    (heading) => `${page.path} has no heading "${heading}"`,
  )
}
