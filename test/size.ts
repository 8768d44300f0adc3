// How much of a long programme the ordinary tests do. `npm run kills`, `npm run failpoints`,
// `npm run differential` and `npm run sim` set these from outside, and do the whole of it;
// docs/proof.md has the table.

const { COUNTERFOIL_KILLS: kills, COUNTERFOIL_FAILPOINT_PAIRS: points } = process.env

/** Real deaths: so many in the ordinary tests, or this share of those that were asked for. */
export function killsWanted(inTests: number, share: number): number {
  return kills === undefined ? inTests : Math.ceil(Number(kills) * share)
}

/** Whether every place is wanted, and not a few that lie apart. */
export const everyPoint = points === 'all'

export const seed = Number(process.env['COUNTERFOIL_SEED'] ?? 20_261_116)

/** Random sequences that are driven through every store. */
export const sequencesWanted = Number(process.env['COUNTERFOIL_SEQUENCES'] ?? 200)

/** Random programs that are foretold and then killed, of each kind. */
export const programsForetold = Number(process.env['COUNTERFOIL_FORETOLD'] ?? 200)
