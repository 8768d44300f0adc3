// Keys that are given from outside instead of lying beside the store.
import { type Key, keyCheck } from './seal.ts'

/** What is wrong with what was given, in words that say what to do; the store adds which it is. */
export class KeysRefused extends Error {}

/**
 * The last of them signs. They have no ids of their own: one is known by its check value, and a new
 * one is named after it, so that processes agree without asking.
 */
export function givenKeys(text: string, checks: ReadonlyMap<string, string>): Key[] {
  const names = new Map([...checks].map(([id, check]) => [check, id]))
  const keys = new Map<string, Key>()
  for (const hex of text.split(/[\s,]+/).filter((part) => part !== '')) {
    if (!/^[0-9a-f]{64}$/i.test(hex)) throw new KeysRefused(notHex)
    const secret = Buffer.from(hex, 'hex')
    const check = keyCheck({ id: '', secret })
    const id = names.get(check) ?? `given-${check.slice(0, 12)}`
    keys.delete(id) // the same key once more: its last place counts
    keys.set(id, { id, secret })
  }
  if (keys.size === 0) throw new KeysRefused(notHex)
  const known = [...keys.keys()].some((id) => checks.has(id))
  if (known || checks.size === 0) return [...keys.values()]
  throw new KeysRefused(notTheKey([...checks.keys()].join(', ')))
}

const notHex = 'the key that was given is not 64 hex digits, or several such with commas'

export function notTheKey(id: string): string {
  return (
    `the key that was given is not the one this database was written with (${id}); ` +
    'nothing was changed; put the right one back from where you keep it'
  )
}
