// Who asks, once that is known, and what they may do at most.
import type { Session } from './sessions.ts'

export const roles = ['viewer', 'operator', 'admin'] as const
export type Role = (typeof roles)[number]

export interface Principal {
  /** Of the token, whoever carries it. */
  readonly id: string
  /** What decisions are recorded with. */
  readonly name: string
  readonly role: Role
  /** One namespace, or `*`. */
  readonly namespace: string
  /** For approvals: `role:…`, `group:…`. */
  readonly claims: readonly string[]
  readonly session: Session | null
}

/** `*` of a token. */
export const everywhere = '*'

/** `anonymous` may do nothing but what `none` allows. */
export const anonymous: Principal = {
  id: 'anonymous',
  name: 'anonymous',
  role: 'viewer',
  namespace: 'default',
  claims: [],
  session: null,
}
