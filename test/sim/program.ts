// Random async node programs: sequences, Promise.all and race, branches nobody awaits, catch-alls,
// pure, keyed and unsafe calls whose inputs may depend on results, identical calls, raw timers.
import { seeded } from './clock.ts'

export type Kind = 'plain' | 'short' | 'long' | 'nondet' | 'version' | 'waits'
type CallClass = 'pure' | 'keyed' | 'unsafe'

export interface CallNode {
  type: 'call'
  site: string
  callClass: CallClass
  tool: string
  input: 'const' | 'local' | 'shared' | 'now' | 'random'
  constant: number
  latencyMs: number
  varying: boolean
  fails: boolean
  /**
   * Inputs of different sites never meet: for versions, where identical calls may trade records.
   */
  distinct: boolean
}

export type Program =
  | CallNode
  | { type: 'seq' | 'all' | 'race' | 'try' | 'unawaited' | 'if'; children: Program[] }
  | { type: 'timer'; ms: number }
  | { type: 'sleep'; ms: number }
  | { type: 'signal'; name: string; timeoutMs: number | null }
  | { type: 'hops'; count: number }

export function generate(seed: number, kind: Kind): Program {
  const random = seeded(seed)
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T
  let sites = 0
  let budget = 3 + Math.floor(random() * 9)
  const call = (): CallNode => {
    budget--
    const callClass = pick(['pure', 'pure', 'unsafe', 'unsafe', 'keyed'] as const)
    const drawn = random()
    const moving = kind === 'nondet' && random() < 0.3
    return {
      type: 'call',
      site: `s${++sites}`,
      callClass,
      tool: `${callClass}_${pick(['a', 'b'])}`,
      input: moving
        ? pick(['now', 'random'])
        : drawn < 0.35
          ? 'const'
          : drawn < 0.75
            ? 'local'
            : 'shared',
      constant: pick([0, 1]),
      latencyMs: pick([0, 0, 3, 20, 20, 100, 1500]),
      varying: random() < 0.5,
      fails: random() < 0.08,
      distinct: kind === 'version',
    }
  }
  const many = (depth: number, count: number) => Array.from({ length: count }, () => node(depth))
  const timer = (): Program => {
    if (kind === 'short') return { type: 'timer', ms: pick([0, 1, 5, 15, 30]) }
    if (kind === 'waits' && random() < 0.6) {
      return { type: 'sleep', ms: pick([0, 5, 100, 300, 2_000, 86_400_000]) }
    }
    if (kind === 'waits') {
      return { type: 'signal', name: pick(['x', 'y']), timeoutMs: pick([null, null, 200, 5_000]) }
    }
    if (kind === 'long') return { type: 'timer', ms: pick([5, 30, 200, 300, 800]) }
    return { type: 'hops', count: 1 + Math.floor(random() * 4) }
  }
  const node = (depth: number): Program => {
    const drawn = random()
    if (depth <= 0 || budget <= 0 || drawn < 0.3) return call()
    const few = 2 + Math.floor(random() * 2)
    if (drawn < 0.5) return { type: 'seq', children: many(depth - 1, few) }
    if (drawn < 0.68) return { type: 'all', children: many(depth - 1, few) }
    if (drawn < 0.78) return { type: 'race', children: many(depth - 1, 2) }
    if (drawn < 0.86) return timer()
    if (drawn < 0.92) return { type: 'try', children: many(depth - 1, 1) }
    if (drawn < 0.95) return { type: 'unawaited', children: many(depth - 1, 1) }
    return { type: 'if', children: many(depth - 1, 2) }
  }
  const children: Program[] = []
  while (budget > 0) children.push(node(3))
  return { type: 'seq', children }
}

/** The program's next version: a call dropped, added or moved. */
export function mutate(program: Program, seed: number): Program {
  const random = seeded(seed)
  const copy = structuredClone(program)
  const sequences: { children: Program[] }[] = []
  walk(copy, (node) => {
    if (node.type === 'seq') sequences.push(node)
  })
  const chosen = sequences[Math.floor(random() * sequences.length)]
  if (chosen === undefined) return copy
  const { children } = chosen
  const at = Math.floor(random() * children.length)
  const drawn = random()
  if (drawn < 0.34) children.splice(at, 1)
  else if (drawn < 0.67) children.splice(at, 0, addedCall(seed))
  else if (children.length > 1) {
    const next = (at + 1) % children.length
    const [a, b] = [children[at] as Program, children[next] as Program]
    children[at] = b
    children[next] = a
  }
  return copy
}

function addedCall(seed: number): CallNode {
  return {
    type: 'call',
    site: `new${seed}`,
    callClass: 'unsafe',
    tool: 'unsafe_a',
    input: 'const',
    constant: 0,
    latencyMs: 3,
    varying: false,
    fails: false,
    distinct: true,
  }
}

export function walk(program: Program, visit: (node: Program) => void): void {
  visit(program)
  if ('children' in program) for (const child of program.children) walk(child, visit)
}

export function sitesOf(program: Program): Set<string> {
  const sites = new Set<string>()
  walk(program, (node) => {
    if (node.type === 'call') sites.add(node.site)
  })
  return sites
}

export interface Environment {
  local: string
  shared: { value: string }
}

export interface Machine {
  call(node: CallNode, input: string): Promise<{ value: string }>
  sleep(ms: number): Promise<void>
  /** For programs of the kind `waits`. */
  durableSleep?(ms: number): Promise<void>
  /** What was sent, or null for nothing in time. */
  signal?(name: string, timeoutMs: number | null): Promise<string | null>
  now(): number
  nonce(): string
}

export async function run(node: Program, env: Environment, machine: Machine): Promise<void> {
  const branch = (): Environment => ({ local: env.local, shared: env.shared })
  switch (node.type) {
    case 'seq':
      for (const child of node.children) await run(child, env, machine)
      return
    case 'all': {
      const branches = node.children.map(branch)
      await Promise.all(node.children.map((child, i) => run(child, branches[i] ?? env, machine)))
      env.local = hash(branches.map((b) => b.local).join())
      return
    }
    case 'race':
      env.local = await Promise.race(
        node.children.map(async (child, i) => {
          const own = branch()
          await run(child, own, machine)
          return `${i}:${own.local}`
        }),
      )
      return
    case 'timer':
      return machine.sleep(node.ms)
    case 'sleep':
      return machine.durableSleep?.(node.ms)
    case 'signal':
      env.local = hash(`${env.local}/${await machine.signal?.(node.name, node.timeoutMs)}`)
      return
    case 'hops':
      for (let i = 0; i < node.count; i++) await null
      return
    case 'try':
      try {
        await run(node.children[0] as Program, env, machine)
      } catch {
        env.local = 'caught'
      }
      return
    case 'unawaited':
      run(node.children[0] as Program, branch(), machine).catch(() => {})
      return
    case 'if': {
      const which = Number.parseInt(hash(env.local), 36) % 2
      return run(node.children[which] as Program, env, machine)
    }
    case 'call': {
      const input = inputOf(node, env, machine)
      const result = await machine.call(node, node.distinct ? node.site + input : input)
      env.local = result.value
      env.shared.value = hash(env.shared.value + result.value)
    }
  }
}

function inputOf(node: CallNode, env: Environment, machine: Machine): string {
  switch (node.input) {
    case 'const':
      return `k${node.constant}`
    case 'local':
      return `L${hash(env.local)}`
    case 'shared':
      return `S${hash(env.shared.value)}`
    case 'now':
      return `N${Math.floor(machine.now())}`
    case 'random':
      return `R${machine.nonce()}`
  }
}

export function hash(text: string): string {
  let h = 2166136261
  for (let i = 0; i < text.length; i++) {
    h ^= text.charCodeAt(i)
    h = Math.imul(h, 16777619)
  }
  return (h >>> 0).toString(36)
}
