// What a count supports: with `failures` of `trials`, the highest rate of failure that would show
// no more of them in 5 of 100 such programmes (Clopper and Pearson, one-sided). For none of n it is
// close to 3/n, the rule of three.

const confidence = 0.95

/** The upper bound of the rate, or null where nothing was tried. */
export function upperBound(failures: number, trials: number): number | null {
  if (trials === 0) return null
  if (failures >= trials) return 1
  if (failures === 0) return 1 - (1 - confidence) ** (1 / trials)
  let [low, high] = [failures / trials, 1]
  for (let n = 0; n < 100; n++) {
    const middle = (low + high) / 2
    if (atMost(failures, trials, middle) > 1 - confidence) low = middle
    else high = middle
  }
  return high
}

/** The chance of at most so many failures at this rate. */
function atMost(failures: number, trials: number, rate: number): number {
  let logTerm = trials * Math.log1p(-rate)
  let sum = Math.exp(logTerm)
  for (let k = 1; k <= failures; k++) {
    logTerm += Math.log((trials - k + 1) / k) + Math.log(rate) - Math.log1p(-rate)
    sum += Math.exp(logTerm)
  }
  return sum
}

/** By rank; null where there is nothing to rank. */
export function percentile(values: readonly number[], share: number): number | null {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? null
}
