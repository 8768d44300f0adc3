import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { apiDocs } from '../../scripts/api-docs.mjs'
import { openapiOf } from '../../src/server/http/openapi.ts'
import { table } from '../../src/server/table.ts'

const file = new URL('../../docs/api.md', import.meta.url)

test('M1 docs/api.md is what the route table says (node scripts/api-docs.mjs writes it)', () => {
  expect(readFileSync(file, 'utf8')).toBe(apiDocs(openapiOf(table, '1')))
})

test('M1 the OpenAPI document is 3.1, its ids are unique, its paths name their parameters', () => {
  const { openapi, paths } = openapiOf(table, '1') as {
    openapi: string
    paths: Record<string, Record<string, { operationId: string; parameters: { name: string }[] }>>
  }
  expect(openapi).toBe('3.1.0')
  const all = Object.entries(paths).flatMap(([path, methods]) =>
    Object.values(methods).map((one) => ({ path, ...one })),
  )
  expect(new Set(all.map(({ operationId }) => operationId)).size).toBe(all.length)
  expect(all.length).toBe(table.length)
  for (const { path, parameters } of all) {
    for (const [, name] of path.matchAll(/\{(\w+)\}/g)) {
      expect(parameters.map((one) => one.name)).toContain(name)
    }
  }
})
