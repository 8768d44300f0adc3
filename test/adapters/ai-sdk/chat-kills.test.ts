// Chats in real processes, killed at many moments while two and three requests of one turn are
// under way at once, in one process and in two: nothing twice, nothing lost, nothing stuck.
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { type Effect, faults, Site } from '../../crash/driver.ts'
import { describePostgres, postgresUrl } from '../../postgres/bench.ts'
import { seed, killsWanted as wanted } from '../../size.ts'

const program = fileURLToPath(new URL('./chat-agent.mjs', import.meta.url))
const killsWanted = wanted(6, 1 / 8)

const places = ['before model', 'after model', 'before mail', 'after mail', 'after charge']
const commits = ['before commit', 'after commit']

/** A moment by chance, the same for every run of the test: after effects more often than not. */
function momentOf(n: number): string {
  const chance = (Math.imul(n + 1, 2_654_435_761) + seed) >>> 8
  if (chance % 3 === 0) return `after mail:${1 + (chance % 2)}`
  const some = chance % 2 === 0 ? places : commits
  return `${some[chance % some.length]}:${1 + (chance % (some === commits ? 9 : 3))}`
}

function wrongIn(effects: readonly Effect[], chats: readonly string[]): string[] {
  const worded = effects.map((effect) => {
    const { note: _, ...input } = effect.input as { note?: string }
    return { ...effect, input }
  })
  return chats.flatMap((to) =>
    faults(
      worded.filter(({ input }) => (input as { to?: string }).to === to),
      [
        { tool: 'mail', input: { to, subject: 'hello' } },
        { tool: 'charge', input: { to, n: 1 } },
        { tool: 'mail', input: { to, subject: 'bye' } },
      ],
    ),
  )
}

interface Kind {
  readonly major: 'ai' | 'ai7'
  readonly processes: number
}

class Chats {
  readonly all: string[] = []
  private readonly site: Site
  private readonly kind: Kind
  kills = 0

  constructor(site: Site, kind: Kind) {
    this.site = site
    this.kind = kind
  }

  /** All processes at once, each with so many browsers for each of these chats. */
  private async work(chats: readonly string[], dieAt: (n: number) => string, browsers: number) {
    const { site, kind } = this
    const spawned = Array.from({ length: kind.processes }, (_, n) => {
      const args = [site.store, site.port, kind.major, dieAt(n), `${browsers}`, chats.join(',')]
      return site.spawn(program, args).exit
    })
    const exits = await Promise.all(spawned)
    return exits.flatMap(({ signal, code, out, error }) => {
      if (signal === 'SIGKILL') this.kills++
      else if (code !== 0) throw new Error(`a server: ${code ?? signal}, ${error}`)
      return signal === 'SIGKILL' ? [] : [JSON.parse(out).states as string[]]
    })
  }

  async kill(): Promise<void> {
    for (let n = 0; this.kills < killsWanted; n++) {
      this.all.push(`chat-${this.kind.processes}-${n}`)
      const moment = (process: number) => momentOf(n * this.kind.processes + process)
      await this.work(this.all.slice(-2), moment, 2 + (n % 2))
      await this.site.decideAll()
    }
  }

  async finish(): Promise<void> {
    for (let round = 0; ; round++) {
      const states = await this.work(this.all, () => '-', 2)
      if (states.flat().every((state) => state === 'done')) return
      if (round > 12) throw new Error(`chats do not end: ${JSON.stringify(states)}`)
      await this.site.decideAll()
    }
  }
}

async function expectSafe(kind: Kind, store?: string): Promise<void> {
  const site = await Site.open(1, store)
  const chats = new Chats(site, kind)
  await chats.kill()
  await chats.finish()
  const effects = site.effects()
  const { doubts, falseDoubts } = site
  const figures = { kills: chats.kills, chats: chats.all.length, effects: effects.length }
  console.log(`AI SDK chats: ${JSON.stringify({ ...kind, ...figures, doubts, falseDoubts })}`)
  expect(wrongIn(effects, chats.all)).toEqual([])
  expect(await site.findings()).toEqual([])
  expect((await site.with((cf) => cf.inbox.list())).items).toEqual([])
  await site.close()
}

describe('SQLite', () => {
  test('K2, J1 requests at once in one process, which is killed', async () => {
    await expectSafe({ major: 'ai', processes: 1 })
  }, 600_000)

  test('K2, J1 requests at once in two processes, which are killed', async () => {
    await expectSafe({ major: 'ai7', processes: 2 })
  }, 600_000)
})

describePostgres('Postgres', () => {
  test('K2, J1 requests at once in two processes, which are killed', async () => {
    await expectSafe({ major: 'ai', processes: 2 }, postgresUrl())
  }, 600_000)
})
