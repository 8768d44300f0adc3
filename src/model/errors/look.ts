// Looks at values that users throw: anything can be thrown, also what throws when it is looked at.

export const unreadable = Symbol('a value that cannot be shown')

export function lookAt<T>(look: () => T): T | typeof unreadable {
  try {
    return look()
  } catch {
    return unreadable
  }
}
