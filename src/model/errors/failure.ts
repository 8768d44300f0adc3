// What is kept of a value that was thrown: the same for a fresh failure and for its replay.
import { lookAt, unreadable } from './look.ts'

/** What a recorded failure holds; the same for a fresh failure and for its replay. */
export interface FailureData {
  kind: 'refused' | 'not_sent' | 'failed' | 'unknown' | 'decided'
  name: string
  message: string
  code?: string
}

/** What can be kept of any thrown value. */
export function failureOf(error: unknown, kind: FailureData['kind']): FailureData {
  if (lookAt(() => error instanceof Error) !== true) {
    return {
      kind,
      name: 'Error',
      message: typeof error === 'string' ? error : `threw ${describe(error)}`,
    }
  }
  // Somebody else's error may have anything in its fields, also what throws when it is read; what
  // is kept is text.
  const field = (key: 'name' | 'message' | 'code') => lookAt(() => (error as Fields)[key])
  const text = (value: unknown) => (typeof value === 'string' ? value : describe(value))
  const [name, code] = [text(field('name')), field('code')]
  const data: FailureData = { kind, name, message: text(field('message')) || name }
  return typeof code === 'string' ? { ...data, code } : data
}

interface Fields {
  readonly name: unknown
  readonly message: unknown
  readonly code?: unknown
}

const cannotBeShown = 'a value that cannot be shown'

function describe(value: unknown): string {
  if (value === unreadable) return cannotBeShown
  try {
    return typeof value === 'bigint' ? String(value) : (JSON.stringify(value) ?? String(value))
  } catch {
    return cannotBeShown
  }
}
