// The person of the third arm: looks at the provider's list, and says what it shows.
import { join } from 'node:path'
import { open } from 'counterfoil'

/**
 * @param {string} by
 * @param {string} dir
 * @param {string} runId
 * @param {() => string[]} sent To whom the provider has sent e-mails.
 */
export async function decideAs(by, dir, runId, sent) {
  const cf = await open({ store: `sqlite:${join(dir, 'runs.db')}` })
  const { items } = await cf.inbox.list({ kind: 'doubt', runId })
  for (const { itemId, version, body } of items) {
    const { to } = /** @type {{ to: string }} */ (body.input)
    const reason = 'looked into the list of the provider'
    const said = { by, reason, version, madeSure: true }
    const result = { messageId: `m-${runId}-${to}` }
    await cf.inbox.decide(
      itemId,
      sent().includes(to)
        ? { outcome: 'happened', result, ...said }
        : { outcome: 'did_not_happen', ...said },
    )
  }
  await cf.close()
  return items.length
}
