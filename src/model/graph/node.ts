// How a node ends. Only what the makers below made is an end: a node that forgot to return one, or
// returns something that merely looks like one, is refused.

const brand: unique symbol = Symbol.for('counterfoil.nodeEnd')

interface Made {
  readonly [brand]: true
}

/** How a node ended. */
export type NodeEnd = Made &
  (
    | { readonly kind: 'done'; readonly output: unknown }
    | {
        readonly kind: 'go'
        readonly node: string
        /** Merged shallowly into the state; a key that is undefined is removed. */
        readonly patch: Readonly<Record<string, unknown>> | null
      }
    | { readonly kind: 'fail'; readonly message: string; readonly details: unknown }
  )

export function goTo(node: string, patch?: Readonly<Record<string, unknown>> | null): NodeEnd {
  return made({ kind: 'go', node, patch: patch ?? null })
}

export function doneWith(output?: unknown): NodeEnd {
  return made({ kind: 'done', output })
}

export function failWith(message: string, details: unknown = null): NodeEnd {
  return made({ kind: 'fail', message, details })
}

/** By symbol, so that two copies of the package in one process agree. */
export function isNodeEnd(value: unknown): value is NodeEnd {
  return typeof value === 'object' && value !== null && brand in value
}

function made(end: object): NodeEnd {
  return Object.freeze(Object.defineProperty(end, brand, { value: true })) as NodeEnd
}
