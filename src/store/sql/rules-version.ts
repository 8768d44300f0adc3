/**
 * Triggers and functions of the databases are made anew when this grows: raise it with every
 * change of their text (a test compares them). A program that knows a lower number leaves them.
 */
export const rulesVersion = 1

/** What a database says its rules were made from. */
export interface RulesMade {
  readonly version: number
  readonly checksum: string
}

export function rulesDue(made: RulesMade | null, checksum: string): boolean {
  if (made === null || made.version < rulesVersion) return true
  return made.version === rulesVersion && made.checksum !== checksum
}

export const rulesText = ({ version, checksum }: RulesMade) => `${version}:${checksum}`

export function readRules(text: string | null): RulesMade | null {
  const [, version, checksum = ''] = /^(\d+):(\w+)$/.exec(text ?? '') ?? []
  return version === undefined ? null : { version: Number(version), checksum }
}
