// The smallest Standard Schema that serves the demo, so that it needs no schema library. Your own
// tools would use zod, valibot, arktype or any other.
import type { Schema } from '../../model/tool/schema.ts'

interface Kinds {
  string: string
  number: number
  boolean: boolean
}

type Shape<F> = { [K in keyof F]: F[K] extends keyof Kinds ? Kinds[F[K]] : never }

/** An object with these fields, each of a simple type. */
export function object<const F extends Record<string, keyof Kinds>>(fields: F): Schema<Shape<F>> {
  return {
    '~standard': {
      version: 1,
      vendor: 'counterfoil-demo',
      validate: (value) => {
        const given = (value ?? {}) as Record<string, unknown>
        const issues = Object.entries(fields)
          .filter(([name, kind]) => typeof given[name] !== kind)
          .map(([name, kind]) => ({ message: `must be a ${kind}`, path: [name] }))
        if (issues.length > 0) return { issues }
        const kept = Object.keys(fields).map((name) => [name, given[name]])
        return { value: Object.fromEntries(kept) as Shape<F> }
      },
    },
  }
}
