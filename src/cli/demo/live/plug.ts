// Owns: "pull the plug" on the demo page: one LangGraph agent twice, on its own saver and guarded,
// each killed after the vendor took its order. The guarded one works on the demo's own store, so
// what it leaves open is decided in the console like anything else.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock, timeId } from '../../../clock.ts'
import { type CounterfoilError, errorFor } from '../../../model/errors.ts'
import { storeOf } from '../world.ts'
import { example } from './agents.ts'

type Name = 'plain' | 'guarded'

interface Order {
  readonly order: string
  readonly usd: number
}

interface Doubt {
  readonly itemId: string
  readonly title: string
}

interface Hooks {
  say(line: string): void
  onOrder(order: Order): void
  onDoubt(doubt: Doubt): void
  signal: AbortSignal
}

type Show = (
  side: Name,
  where: { folder: string; args: string[] },
  hooks: Hooks,
) => Promise<unknown>

interface Side {
  readonly lines: string[]
  readonly orders: Order[]
  readonly doubts: Doubt[]
  state: 'working' | 'done' | 'failed'
}

/** What the two sides import; whoever only uses Counterfoil need not have them. */
const wanted = ['@langchain/langgraph', '@langchain/langgraph-checkpoint-sqlite', 'zod']

export class Plug {
  private readonly folder: string
  private sides: Readonly<Record<Name, Side>> | null = null
  private ending = new AbortController()

  constructor(folder: string) {
    this.folder = folder
  }

  status() {
    const missing = missingPackages()
    const sides = this.sides && { plain: json(this.sides.plain), guarded: json(this.sides.guarded) }
    return { missing, running: this.running, sides }
  }

  async pull(): Promise<void> {
    if (this.running) throw refused('both sides are still at work: decide the open item first')
    const missing = missingPackages()
    if (missing.length > 0) throw refused(`it needs ${missing.join(' ')}: npm install them`)
    const { show } = await example<{ show: Show }>('pull-the-plug/show.mjs')
    const thread = timeId(systemClock, 'purchase')
    const folder = join(this.folder, thread)
    mkdirSync(folder)
    const sides = { plain: newSide(), guarded: newSide() }
    this.sides = sides
    const { signal } = this.ending
    const play = (name: Name, args: string[]) => {
      const side = sides[name]
      show(name, { folder, args }, { ...hooksOf(side), signal }).then(
        () => {
          side.state = 'done'
        },
        (error) => {
          side.state = 'failed'
          side.lines.push(String(error))
        },
      )
    }
    play('plain', [join(folder, 'plain.db')])
    play('guarded', [storeOf(this.folder), thread])
  }

  stop(): void {
    this.ending.abort()
  }

  private get running(): boolean {
    return this.sides !== null && Object.values(this.sides).some(({ state }) => state === 'working')
  }
}

function newSide(): Side {
  return { lines: [], orders: [], doubts: [], state: 'working' }
}

function hooksOf(side: Side): Omit<Hooks, 'signal'> {
  return {
    say: (line) => void side.lines.push(line),
    onOrder: (order) => void side.orders.push(order),
    onDoubt: (doubt) => void side.doubts.push(doubt),
  }
}

function json({ lines, orders, doubts, state }: Side) {
  const usd = orders.reduce((sum, order) => sum + order.usd, 0)
  const asked = doubts.map(({ itemId, title }) => ({ item_id: itemId, title }))
  return { state, lines, orders: orders.length, usd, doubts: asked }
}

function missingPackages(): string[] {
  return wanted.filter((name) => {
    try {
      import.meta.resolve(name)
      return false
    } catch {
      return true
    }
  })
}

function refused(why: string): CounterfoilError {
  return errorFor('DEMO_PLUG', why)
}
