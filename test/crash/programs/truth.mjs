// A person who tells the truth: doubts are decided by what the upstream's log says, approvals by a
// rule that anybody can work out again from the run's id.

/**
 * @typedef {{ tool: string, key: string | null, input: any, attemptId: string | null,
 *   runId?: string, result: unknown, repeated: boolean }} Effect
 * @typedef {{ outcome: 'happened', result: unknown } | { outcome: 'did_not_happen' }
 *   | { outcome: 'resume' } | { outcome: 'approve' }
 *   | { outcome: 'edit', result: unknown } | { outcome: 'reject' }} Said
 */

/** How often the agent goes round. */
export const rounds = 3

/** @type {readonly ['approve', 'edit', 'reject']} */
const rulings = ['approve', 'edit', 'reject']

/**
 * What becomes of the question `about` in this run.
 * @param {string} runId
 * @param {string} about
 */
export function rulingOf(runId, about) {
  let sum = about.length
  for (const char of runId) sum += char.charCodeAt(0)
  return rulings[sum % 3] ?? 'approve'
}

/**
 * @param {import('counterfoil').Item} item
 * @param {readonly Effect[]} effects
 * @returns {Said}
 */
export function answerTo(item, effects) {
  if (item.kind === 'approval') return approvalOf(item)
  // Its workers were killed: the run is not to blame.
  if (item.reason === 'poison') return { outcome: 'resume' }
  const { subject, attemptId: id } = item.body
  if (item.reason !== 'unknown' || subject === null) {
    throw new Error(`nobody should be asked this: ${item.runId}: ${item.title}`)
  }
  const landed = effects.find((effect) => effect.attemptId === id)
  return landed ? { outcome: 'happened', result: landed.result } : { outcome: 'did_not_happen' }
}

/**
 * @param {import('counterfoil').Item} item
 * @returns {Said}
 */
function approvalOf({ runId, queue, body }) {
  if (queue === 'tour') return { outcome: 'approve' }
  const held = body.subject?.tool === 'mail'
  const outcome = rulingOf(runId, held ? 'mail' : 'pay')
  if (outcome !== 'edit') return { outcome }
  const input = /** @type {{ subject: string }} */ (body.input)
  const edited = held ? { ...input, subject: `${input.subject}, edited` } : { amount: 70 }
  return { outcome, result: edited }
}

/**
 * The effects of an uninterrupted run of the agent.
 * @param {string} to
 */
export function effectsOf(to) {
  const amount = { approve: 100, edit: 70, reject: 0 }[rulingOf(to, 'pay')]
  const second = rulingOf(to, 'mail')
  const effects = []
  for (let n = 1; n <= rounds; n++) {
    const held = n === 2 && second !== 'approve'
    const subject = held ? `round ${n}, edited` : `round ${n}`
    if (!(held && second === 'reject')) effects.push({ tool: 'mail', input: { to, subject } })
    effects.push({ tool: 'fetched', input: { to, n } })
    if (amount > 0) effects.push({ tool: 'charge', input: { to, n, amount } })
  }
  return effects
}

/**
 * The effects of an uninterrupted thread of the foreign runtime.
 * @param {string} to
 */
export function effectsOfThread(to) {
  return [0, 1, 2].flatMap((n) => [
    { tool: 'mail', input: { to, subject: `step ${n}` } },
    { tool: 'mail', input: { to, subject: `step ${n}, copy` } },
    { tool: 'charge', input: { to, n } },
    { tool: 'fetched', input: { to, n } },
  ])
}

/**
 * The effects of an uninterrupted tour, those of its child included.
 * @param {string} to
 */
export function effectsOfTour(to) {
  const mails = ['hello 1', 'copy', 'errand', 'bye']
  return [
    ...mails.map((subject) => ({ tool: 'mail', input: { to, subject } })),
    ...['a', 'errand'].map((invoice) => ({ tool: 'charge', input: { to, invoice } })),
  ]
}
