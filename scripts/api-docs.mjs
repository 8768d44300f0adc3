// Writes docs/api.md from the OpenAPI document. `--check` only says whether it is up to date.
import { readFileSync, writeFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'

const file = new URL('../docs/api.md', import.meta.url)

const intro = `# HTTP API

Made from \`/v1/openapi.json\` by \`node scripts/api-docs.mjs\`; do not edit it by hand.

Send \`Authorization: Bearer cf_…\` (\`counterfoil token create\`), or sign in with a browser.
Bodies are JSON. Lists answer \`{ items, next }\`: give \`next\` back as \`cursor\`. An error is a
problem (RFC 9457) whose \`type\` is the page about it. Every POST honours \`Idempotency-Key\`,
except those that answer with a secret. Tokens of all namespaces choose one with \`?namespace=\`.
docs/guides/server.md has the rest.
`

/**
 * One line for a schema: enough to write a request by.
 * @param {any} schema
 * @returns {string}
 */
function shown(schema = {}) {
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  /** @type {unknown[] | undefined} */
  const values = schema.enum
  if (values) return values.map((value) => JSON.stringify(value)).join(' or ')
  if (schema.anyOf) return schema.anyOf.map(shown).join(' or ')
  if (schema.type === 'array') return `list of ${shown(schema.items)}`
  if (schema.type === 'object' && schema.properties) {
    const keys = Object.entries(schema.properties).map(([key, value]) => {
      const optional = schema.required?.includes(key) ? '' : '?'
      return `${key}${optional}: ${shown(value)}`
    })
    return `{ ${keys.join(', ')} }`
  }
  return schema.type ?? 'any JSON'
}

/** @param {string} text */
const cell = (text) => text.replaceAll('|', '\\|')

/**
 * @param {string} path
 * @param {string} method
 * @param {any} operation
 */
function operation(path, method, { summary, parameters, requestBody, responses, ...rest }) {
  /** @type {any[]} */
  const all = parameters
  const own = all.filter(({ name }) => !['namespace', 'Idempotency-Key'].includes(name))
  const body = requestBody?.content['application/json']?.schema
  const [status, answer] = Object.entries(responses)[0] ?? []
  const [type, content] = Object.entries(answer?.content ?? {})[0] ?? []
  const json = type === 'application/json' ? ` \`${shown(content.schema)}\`` : ''
  return [
    `### ${method.toUpperCase()} ${path}`,
    '',
    `${summary} Role: ${rest['x-role'] === 'none' ? 'anybody' : rest['x-role']}.`,
    '',
    ...own.map(({ name, in: where, required, schema }) => {
      return `- \`${name}\` (${where}${required ? '' : ', optional'}): ${cell(shown(schema))}`
    }),
    ...(body ? [`- body: \`${shown(body)}\``] : []),
    `- answers ${status}${type === undefined ? '' : ` ${type}`}${json}`,
    '',
  ].join('\n')
}

/** @param {any} openapi */
export function apiDocs(openapi) {
  const tags = new Map()
  for (const [path, methods] of Object.entries(openapi.paths)) {
    for (const [method, one] of Object.entries(/** @type {Record<string, any>} */ (methods))) {
      const [tag] = one.tags
      tags.set(tag, [...(tags.get(tag) ?? []), operation(path, method, one)])
    }
  }
  const parts = [...tags].map(([tag, operations]) => `## ${tag}\n\n${operations.join('\n')}`)
  return `${intro}\n${parts.join('\n')}`.replace(/\n+$/, '\n')
}

/** From what is built: run `npm run build` first. */
async function main() {
  const { table } = await import(new URL('../dist/server/table.js', import.meta.url).href)
  const { openapiOf } = await import(new URL('../dist/server/openapi.js', import.meta.url).href)
  const text = apiDocs(openapiOf(table, '1'))
  if (!process.argv.includes('--check')) writeFileSync(file, text)
  else if (readFileSync(file, 'utf8') !== text) {
    process.stderr.write('docs/api.md is old: node scripts/api-docs.mjs\n')
    process.exitCode = 1
  }
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) await main()
