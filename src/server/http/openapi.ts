// The API as OpenAPI 3.1 describes it, made of the schemas that validate.
import { z } from 'zod'
import type { Route, Shape } from './route.ts'
import * as shapes from './shapes.ts'

type Json = Record<string, unknown>

/** What comes in as it is sent, what goes out as it is given. */
function schemaOf(shape: Shape, io: 'input' | 'output'): Json {
  const { $schema: _, ...schema } = z.toJSONSchema(shape, { io, unrepresentable: 'any' }) as Json
  return schema
}

const problem = { $ref: '#/components/schemas/Problem' }
const failed = {
  description: 'A problem (RFC 9457); `type` is the page about it.',
  content: { 'application/problem+json': { schema: problem } },
}

export function openapiOf(table: readonly Route[], version: string): Json {
  const paths: Record<string, Json> = {}
  for (const route of table) {
    const path = route.path.replace(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(route) }
  }
  const bearer = { type: 'http', scheme: 'bearer', description: 'counterfoil token create' }
  const cookie = { type: 'apiKey', in: 'cookie', name: 'counterfoil' }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Counterfoil',
      version,
      description: 'Runs of agents, their ledgers, and what waits for people.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    paths,
    components: {
      schemas: { Problem: schemaOf(shapes.problem, 'output') },
      securitySchemes: { bearer, session: cookie },
    },
  }
}

function operationOf(route: Route): Json {
  const { method, path, role, summary, tag, body } = route
  const status = route.status ?? 200
  return {
    operationId: operationId(method, path),
    tags: [tag],
    summary,
    'x-role': role,
    security: role === 'none' ? [] : [{ bearer: [] }, { session: [] }],
    parameters: parametersOf(route),
    ...(body === undefined ? {} : { requestBody: bodyOf(body) }),
    responses: { [status]: answerOf(route), default: failed },
  }
}

function operationId(method: string, path: string): string {
  const words = path.split(/[/:.]/).filter((word) => word !== '' && word !== 'v1')
  // The same under another name has an id of its own.
  const apart = path.startsWith('/v1/') ? [] : ['alias']
  return [method.toLowerCase(), ...apart, ...words].join('_').replace(/\W/g, '_')
}

function bodyOf(body: Shape): Json {
  const required = !body.safeParse({}).success
  return { required, content: { 'application/json': { schema: schemaOf(body, 'input') } } }
}

function answerOf({ answer, type, status, summary }: Route): Json {
  if (status === 204 || status === 303) return { description: summary }
  if (answer === undefined) {
    const schema = { type: 'string' }
    return { description: summary, content: { [type ?? 'text/plain']: { schema } } }
  }
  const content = { 'application/json': { schema: schemaOf(answer, 'output') } }
  return { description: summary, content }
}

function parametersOf(route: Route): Json[] {
  const { params, query, method, role, secret } = route
  const named = (shape: Shape | undefined, where: 'path' | 'query') => {
    if (shape === undefined) return []
    const { properties = {}, required = [] } = schemaOf(shape, 'input') as {
      properties?: Record<string, Json>
      required?: string[]
    }
    return Object.entries(properties).map(([name, schema]) => ({
      name,
      in: where,
      schema,
      required: where === 'path' || required.includes(name),
    }))
  }
  const namespace = { name: 'namespace', in: 'query', required: false, schema: text }
  const key = { name: 'Idempotency-Key', in: 'header', required: false, schema: text }
  return [
    ...named(params, 'path'),
    ...named(query, 'query'),
    ...(role === 'none' ? [] : [{ ...namespace, description: 'For tokens of every namespace.' }]),
    ...(method === 'POST' && !secret ? [key] : []),
  ]
}

const text = { type: 'string', maxLength: 255 }
