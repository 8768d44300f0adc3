// Numbers, and nothing else.

export const round = (/** @type {number} */ x, digits = 2) => Number(x.toFixed(digits))

/** @param {number[]} values */
export const mean = (values) => values.reduce((a, b) => a + b, 0) / values.length

/**
 * @param {number[]} values
 * @param {number} q
 */
export function quantile(values, q) {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? Number.NaN
}

/** @param {number[]} values */
export const median = (values) => quantile(values, 0.5)

/** Of all processes the same: a child's times are compared with its parent's. */
export const now = () => performance.timeOrigin + performance.now()
