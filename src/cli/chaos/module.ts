// What a user's file brings for chaos, read and checked.
import { errorFor } from '../../model/errors.ts'
import { type Carried, carriedIn, type Exported, importFile, withoutGraph } from '../dev/load.ts'
import type { Agent, Answers, Asked, Effects, Facts, Mocks, Signals } from './types.ts'
import { pairOf } from './upstream.ts'

export interface Brought extends Carried {
  readonly agent: Agent | null
  readonly mocks: Mocks
  readonly answers: Answers
  readonly signals: Signals
  readonly effects: Effects | null
  readonly exported: Exported
}

export async function readModule(file: string): Promise<Brought> {
  const { path, exported } = await importFile(file, 'chaos')
  const carried = carriedIn(path, exported)
  const { agent = null, mocks = {}, answers = {}, signals = {}, effects = null } = exported
  const bad = (what: string) => errorFor('MODULE_NOT_LOADED', `${path} exports ${what}`)
  if (agent !== null && typeof agent !== 'function') {
    throw bad('`agent`, which must be a function: async (cf, { input, runId, dir }) => …')
  }
  if (agent === null && carried.graphs.length === 0) {
    const other = '; for another runtime: export async function agent(cf, { input, runId }) { … }'
    throw withoutGraph(path, exported, other)
  }
  const wrong = wrongMock(mocks)
  if (wrong !== null) {
    throw bad(
      `\`mocks\`, of which ${wrong} is not a function: mocks = { name: async (input, call) => … }`,
    )
  }
  if (effects !== null && typeof effects !== 'function') {
    throw bad('`effects`, which must be a function: async () => ({ send_email: 3 })')
  }
  for (const [name, value] of Object.entries({ answers, signals })) {
    const fits = typeof value === 'function' || (typeof value === 'object' && value !== null)
    if (!fits) throw bad(`\`${name}\`, which must be an object or a function`)
  }
  return {
    ...carried,
    agent: agent as Agent | null,
    mocks: mocks as Mocks,
    answers: answers as Answers,
    signals: signals as Signals,
    effects: effects as Effects | null,
    exported,
  }
}

export function wrongMock(mocks: unknown): string | null {
  if (typeof mocks !== 'object' || mocks === null) return 'it'
  const wrong = Object.entries(mocks).find(([, mock]) => {
    const pair = pairOf(mock)
    const probes = pair?.probe === undefined || typeof pair.probe === 'function'
    return typeof pair?.run !== 'function' || !probes
  })
  return wrong?.[0] ?? null
}

export function factsOf({ graphs, agent, mocks, effects, exported }: Brought): Facts {
  const names = Object.keys(mocks)
  return {
    graphs: graphs.map(({ id, name, tools }) => ({
      id,
      name,
      tools: [...tools.values()].map(({ name: tool, replayClass }) => ({
        name: tool,
        replayClass,
      })),
    })),
    agent: agent !== null,
    mocks: names,
    probes: names.filter((name) => pairOf(mocks[name])?.probe !== undefined),
    effects: effects !== null,
    ...('input' in exported ? { input: exported['input'] } : {}),
  }
}

/** Undefined where nobody has said anything. */
export function answerOf(answers: Answers, asked: Asked): unknown {
  if (typeof answers === 'function') return answers(asked)
  return Object.hasOwn(answers, asked.title) ? answers[asked.title] : undefined
}

export function signalOf(signals: Signals, signal: { name: string; runId: string }): unknown {
  if (typeof signals === 'function') return signals(signal)
  return Object.hasOwn(signals, signal.name) ? signals[signal.name] : undefined
}
