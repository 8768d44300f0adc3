// A language model whose replies are recorded. A call that is on record is answered from there, a
// stream part by part; nothing is asked of the provider. `request` and headers are those of the
// moment: a replay has none.
import { errorFor } from '../../model/errors.ts'
import type { Tool } from '../../model/tool/tool.ts'
import { failureToRecord, failureToThrow } from './failure.ts'
import { replyNumber } from './places.ts'
import { promptOf } from './prompt.ts'
import {
  type Envelope,
  envelopeOf,
  type Generated,
  generatedOf,
  isBroken,
  type Part,
  packGenerated,
  packParts,
  partsOf,
} from './reply.ts'
import { Tube } from './tube.ts'
import type { Turn } from './turn.ts'

/** What is used of a language model of the AI SDK, whatever the version of its specification. */
export interface ModelLike {
  readonly specificationVersion: string
  readonly provider: string
  readonly modelId: string
  doGenerate(options: never): PromiseLike<unknown>
  doStream(options: never): PromiseLike<unknown>
}

interface Params {
  readonly prompt?: readonly unknown[]
  readonly tools?: readonly { readonly name: string }[]
  readonly abortSignal?: AbortSignal
  readonly headers?: unknown
}

interface Streamed {
  readonly stream: ReadableStream<Part>
  readonly request?: unknown
  readonly response?: unknown
}

type Mode = 'generate' | 'stream'

/** Asks the provider; what it says is what is recorded. */
export interface Asking {
  ask(signal: AbortSignal): Promise<Envelope>
}

export interface ModelRules {
  readonly tool: Tool
  /** Names of all tools that the guard knows. */
  readonly known: ReadonlySet<string>
}

interface Reply {
  readonly envelope: Envelope
  readonly replayed: boolean
}

export function recordModel<M extends ModelLike>(turn: Turn, model: M, rules: ModelRules): M {
  const recorder = new Recorder(turn, model, rules)
  // Whatever else the model has, such as the addresses it can read by itself, stays its own.
  return new Proxy(model, {
    get: (target, key) => {
      if (key === 'doGenerate') return (params: Params) => recorder.generate(params)
      if (key === 'doStream') return (params: Params) => recorder.stream(params)
      const value: unknown = Reflect.get(target, key, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

class Recorder {
  private readonly turn: Turn
  private readonly model: ModelLike
  private readonly rules: ModelRules

  constructor(turn: Turn, model: ModelLike, rules: ModelRules) {
    this.turn = turn
    this.model = model
    this.rules = rules
  }

  async generate(params: Params): Promise<unknown> {
    let fresh: Generated | null = null
    const { envelope, replayed } = await this.ask('generate', params, async (signal) => {
      fresh = (await this.model.doGenerate(withSignal(params, signal))) as Generated
      return packGenerated(fresh)
    })
    const said = generatedOf(envelope)
    this.turn.noteReply(said.content, replyNumber(params.prompt), isBroken(envelope))
    const { request, response } = (fresh ?? {}) as Partial<Generated>
    const moment = fresh
      ? { ...(request ? { request } : {}), ...(response ? { response } : {}) }
      : {}
    return { ...said, ...moment, providerMetadata: told(said.providerMetadata, replayed) }
  }

  async stream(params: Params): Promise<unknown> {
    const tube = new Tube<Part>()
    const number = replyNumber(params.prompt)
    let begun: (opened: Streamed) => void = () => {}
    const live = new Promise<Streamed>((resolve) => {
      begun = resolve
    })
    const reply: Promise<Reply> = this.ask('stream', params, async (signal) => {
      const opened = (await this.model.doStream(withSignal(params, signal))) as Streamed
      begun(opened)
      return packParts(await this.passOn(opened.stream, tube, { reply, number }))
    })
    // A stream that is on record begins when it is read back, any other when its provider does.
    const opened = await Promise.race([live, reply.then(() => null)])
    this.endWith(tube, reply, number)
    const { request, response } = opened ?? {}
    return {
      stream: tube.readable,
      ...(request ? { request } : {}),
      ...(response ? { response } : {}),
    }
  }

  /** As they come; the end waits for the record, so that nothing follows from it before. */
  private async passOn(
    stream: ReadableStream<Part>,
    tube: Tube<Part>,
    of: { reply: Promise<Reply>; number: number },
  ): Promise<Part[]> {
    const parts: Part[] = []
    let ending = false
    for await (const part of stream) {
      parts.push(part)
      ending ||= part.type === 'finish'
      this.turn.notePart(part, of)
      if (!ending) tube.push(part)
    }
    return parts
  }

  private endWith(tube: Tube<Part>, reply: Promise<Reply>, number: number): void {
    reply.then(
      ({ envelope, replayed }) => {
        const parts = partsOf(envelope)
        this.turn.noteReply(parts, number, isBroken(envelope))
        for (const part of parts.slice(tube.count)) {
          const end = part.type === 'finish'
          tube.push(
            end ? { ...part, providerMetadata: told(part.providerMetadata, replayed) } : part,
          )
        }
        tube.end()
      },
      (error) => {
        if (error !== this.turn.error) return tube.fail(error)
        tube.push({ type: 'error', error })
        tube.end()
      },
    )
  }

  private async ask(
    mode: Mode,
    params: Params,
    send: (signal: AbortSignal) => Promise<Envelope>,
  ): Promise<Reply> {
    const { turn, rules, model } = this
    checkTools(params, rules)
    const place = { generation: turn.generation, reply: replyNumber(params.prompt) }
    const input = {
      model: `${model.provider}/${model.modelId}`,
      mode,
      ...askedOf(params, turn.earlier.callIds),
      ...(place.generation === 0 ? {} : { generation: place.generation }),
    }
    turn.noteMessages(params.prompt)
    for (;;) {
      let thrown: { error: unknown } | null = null
      const ask = async (signal: AbortSignal) => {
        try {
          turn.fresh = true
          return { ...unlessBroken(await send(signal), rules.tool), turn: place }
        } catch (error) {
          thrown = { error }
          throw failureToRecord(error)
        }
      }
      const { value, replayed, failed } = await turn.call(rules.tool, input, { live: { ask } })
      // A failure of an earlier process: it has come back to ask again.
      const past = replayed && turn.host.standalone
      if (failed) {
        if (past && isCallFailed(value)) continue
        throw thrown && !replayed ? (thrown as { error: unknown }).error : failureToThrow(value)
      }
      const envelope = envelopeOf(value, { mode, version: model.specificationVersion })
      if (past && isBroken(envelope)) continue
      return { envelope, replayed }
    }
  }
}

/** What the provider executed may have happened or not: nobody may ask for it again unasked. */
function unlessBroken(envelope: Envelope, { name, replayClass }: Tool): Envelope {
  if (replayClass === 'pure' || !isBroken(envelope)) return envelope
  throw new Error(`the reply of ${name} broke off`)
}

function isCallFailed(error: unknown): boolean {
  return (error as { code?: unknown }).code === 'CALL_FAILED'
}

/**
 * What a call of a model is known by: its parameters, as a digest. The prompt grows with every
 * step, and headers hold keys; neither is written.
 */
function askedOf(params: Params, leftOut: ReadonlySet<string>) {
  const { abortSignal: _, headers: _headers, ...asked } = params
  return promptOf(asked, leftOut)
}

/** A tool that the guard has not seen would be called past the ledger. */
function checkTools({ tools = [] }: Params, { known }: ModelRules): void {
  const strange = tools.map(({ name }) => name).filter((name) => !known.has(name))
  if (strange.length === 0) return
  throw errorFor(
    'AGENT_INVALID',
    `the model is given tools that the guard does not know: ${strange.join(', ')}; ` +
      'give them to guardAgent({ tools }), and use the tools that it returns',
    { tools: strange },
  )
}

function withSignal(params: Params, signal: AbortSignal): never {
  const { abortSignal } = params
  const both = abortSignal ? AbortSignal.any([abortSignal, signal]) : signal
  return { ...params, abortSignal: both } as never
}

function told(metadata: Record<string, unknown> | undefined, replayed: boolean) {
  return { ...metadata, counterfoil: { replayed } }
}
