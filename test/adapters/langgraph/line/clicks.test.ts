// Requests that name a checkpoint, and branches, killed with SIGKILL and made again: by a client
// that was not answered, or by whoever goes on with the thread.
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { Site } from '../../../crash/driver.ts'
import { answerTo } from '../../../crash/programs/truth.mjs'
import { describePostgres, postgresUrl } from '../../../postgres/bench.ts'
import { killsWanted } from '../../../size.ts'

const program = fileURLToPath(new URL('./clicks.mjs', import.meta.url))

interface Said {
  readonly end: string
  readonly checkpointId: string
  readonly next: readonly string[]
}

interface Request {
  readonly does: 'begin' | 'click' | 'branch' | 'go'
  readonly checkpointId?: string
  readonly steady?: boolean
}

async function makes(site: Site, request: Request, dieAt = '-'): Promise<Said | 'killed'> {
  const args = [site.store, site.port, dieAt, JSON.stringify(request)]
  const { signal, code, out, error } = await site.spawn(program, args).exit
  if (signal === 'SIGKILL') return 'killed'
  if (code !== 0) throw new Error(`${request.does}, ${dieAt}: ${code ?? signal}, ${error}`)
  return JSON.parse(out) as Said
}

const sent = (site: Site) => site.effects().map(({ input }) => (input as { what: string }).what)

/** A person looks at the upstream, and says what is there. */
async function decideAll(site: Site): Promise<string[]> {
  const reasons: string[] = []
  await site.with(async (cf) => {
    for (const item of (await cf.inbox.list()).items) {
      const { itemId, version, body, reason } = item
      const by = { by: 'ana', reason: 'looked', madeSure: true, version }
      const [record] = body.unmatched
      reasons.push(reason ?? item.kind)
      if (reason === 'same_effect' && record) {
        await cf.inbox.decide(itemId, { outcome: 'use_record', record, ...by })
      } else await cf.inbox.decide(itemId, { ...answerTo(item, site.effects()), ...by })
    }
  })
  return reasons
}

/** Requests are made again until the thread is through. */
async function seesThrough(site: Site, request: Request) {
  const reasons: string[] = []
  for (let n = 0; n < 8; n++) {
    const said = await makes(site, request)
    if (said === 'killed') throw new Error('nobody killed it')
    // A thread that was killed between its writes and its next checkpoint has nothing next either.
    if (said.end === 'done' && said.next.length === 0) return reasons
    reasons.push(...(await decideAll(site)))
    // Whoever was told that the thread has moved looks at it again.
    if (said.end === 'THREAD_MOVED') request = { does: 'go' }
  }
  throw new Error(`the thread never ended: ${reasons}`)
}

const clicks = ['after a:1', 'after commit:2', 'after putStep:2', 'before commit:2', 'after b:1']
const branches = ['before stored:1', 'after putStep:1', 'after stored:1']
/** All of them in `npm run kills`. */
const share = (moments: readonly string[], inTests: number) =>
  moments.slice(0, killsWanted(inTests, 1))

async function begun(store?: string): Promise<[Site, string]> {
  const site = await Site.open(1, store)
  const first = await makes(site, { does: 'begin' })
  if (first === 'killed') throw new Error('nobody killed it')
  return [site, first.checkpointId]
}

function suite(
  name: string,
  describeStore: typeof describe | typeof describePostgres,
  url: () => string | undefined,
) {
  describeStore(name, () => {
    test('C2, K1 a click with checkpoint_id, killed and made again, sends each once', async () => {
      for (const moment of share(clicks, 2)) {
        const [site, checkpointId] = await begun(url())
        try {
          const click: Request = { does: 'click', checkpointId }
          expect(await makes(site, click, moment), moment).toBe('killed')
          const reasons = await seesThrough(site, click)
          expect(sent(site).toSorted(), `${moment}: ${reasons}`).toEqual(['a', 'b'])
        } finally {
          await site.close()
        }
      }
    })

    for (const steady of [true, false]) {
      const how = steady ? 'the same' : 'other'
      test(`C2, K1 a branch killed before it is noted as stored, ${how} words`, async () => {
        for (const moment of share(branches, 1)) {
          const [site, checkpointId] = await begun(url())
          try {
            await makes(site, { does: 'click', checkpointId, steady })
            expect(sent(site)).toEqual(['a', 'b'])
            expect(await makes(site, { does: 'branch', steady }, moment), moment).toBe('killed')
            const reasons = await seesThrough(site, { does: 'go', steady })
            expect(sent(site), moment).toEqual(['a', 'b'])
            expect(reasons.filter((reason) => reason !== 'same_effect')).toEqual([])
          } finally {
            await site.close()
          }
        }
      })
    }
  })
}

suite('sqlite', describe, () => undefined)
suite('postgres', describePostgres, postgresUrl)
