// What the agents of the kill tests share: where they die, which major they use, and how their
// tools reach the upstream.
import { callInfo } from 'counterfoil/ai-sdk'
import { post } from '../../crash/programs/workload.mjs'

/** Kills this process at the n-th hit of a name (`name:n`); `-` is never. */
export function failpoint(/** @type {string} */ dieAt) {
  const [dieName, dieCount] = dieAt.split(':')
  let hits = 0
  return (/** @type {string} */ name) => {
    // SIGKILL to oneself: no handler, no flush, no exit code of our own.
    if (name === dieName && ++hits === Number(dieCount)) process.kill(process.pid, 'SIGKILL')
  }
}

/** The AI SDK by its package, with the mock model of that major. */
export async function sdkOf(/** @type {string} */ major) {
  /** @type {typeof import('ai')} */
  const sdk = await import(major)
  const { MockLanguageModelV3, MockLanguageModelV4 } = await import(`${major}/test`)
  return { sdk, Model: MockLanguageModelV4 ?? MockLanguageModelV3 }
}

export function sender(/** @type {string} */ port, /** @type {(name: string) => void} */ hit) {
  return async (
    /** @type {string} */ tool,
    /** @type {unknown} */ input,
    /** @type {object} */ options,
  ) => {
    const { idempotencyKey: key = null, attemptId = null } = callInfo(options) ?? {}
    hit(`before ${tool}`)
    const result = await post(Number(port), { tool, key, input, attemptId })
    hit(`after ${tool}`)
    return result
  }
}

/** A charge is sent along with a key that its upstream knows for ever. */
export const chargeClass = {
  replayClass: /** @type {const} */ ('idempotent_with_key'),
  idempotencyKey: (/** @type {{ to: string, n: number }} */ { to, n }) => `${to}:${n}`,
  keyTtlMs: Number.POSITIVE_INFINITY,
}
