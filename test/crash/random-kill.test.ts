// SIGKILL at random moments of the work, over many runs on one file; then everything is finished.
// `npm run proof` and `npm run kills` do it more often.
import { expect, test } from 'vitest'
import { seed, killsWanted as wanted } from '../size.ts'
import { killAtRandom } from './kills.ts'

const killsWanted = wanted(40, 1)

test('C2, C5, D2 random SIGKILLs: no unsafe effect twice, none lost, every run ends', async () => {
  const found = await killAtRandom(seed, killsWanted)
  console.log(`random kills: ${JSON.stringify({ seed, ...found })}`)
  expect(found.wrong).toEqual([])
  // Evidence that deaths fell into calls, not beside them.
  expect(found.doubts).toBeGreaterThan(killsWanted / 4)
}, 1_200_000)
