// Which of two versions is the newer, by the rules of semver: a pre-release comes before its
// release, numbers count as numbers, and what follows a plus says nothing.

/** Below 0 if `a` is the older one. */
export function compareVersions(a: string, b: string): number {
  const [coreA, preA] = partsOf(a)
  const [coreB, preB] = partsOf(b)
  const core = compareParts(coreA, coreB)
  if (core !== 0 || (preA.length === 0 && preB.length === 0)) return core
  if (preA.length === 0 || preB.length === 0) return preA.length === 0 ? 1 : -1
  return compareParts(preA, preB)
}

function partsOf(version: string): [core: string[], pre: string[]] {
  const [plain = ''] = version.split('+')
  const dash = plain.indexOf('-')
  if (dash < 0) return [plain.split('.'), []]
  return [plain.slice(0, dash).split('.'), plain.slice(dash + 1).split('.')]
}

function compareParts(a: readonly string[], b: readonly string[]): number {
  for (let i = 0; i < Math.max(a.length, b.length); i++) {
    const [x, y] = [a[i], b[i]]
    if (x === undefined || y === undefined) return x === undefined ? -1 : 1
    if (x !== y) return comparePart(x, y)
  }
  return 0
}

function comparePart(a: string, b: string): number {
  const [isA, isB] = [/^\d+$/.test(a), /^\d+$/.test(b)]
  if (isA && isB) return Number(a) - Number(b)
  if (isA !== isB) return isA ? -1 : 1
  return a < b ? -1 : 1
}
