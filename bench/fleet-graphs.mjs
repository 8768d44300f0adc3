// The graphs that several worker processes share.
import { tool, workflow } from 'counterfoil'

/** Any input, any output: validation is not what is measured. */
/** @type {import('@standard-schema/spec').StandardSchemaV1<any, any>} */
export const any = {
  '~standard': { version: 1, vendor: 'bench', validate: (value) => ({ value }) },
}

const unsafe = tool({ name: 'unsafe', replayClass: 'unsafe_on_replay', input: any, run: () => 1 })

const calls = (/** @type {string} */ id) =>
  workflow({
    id,
    input: any,
    tools: [unsafe],
    run: async (/** @type {{ count: number }} */ { count }, ctx) => {
      for (let i = 0; i < count; i++) await ctx.call(unsafe, { i })
    },
  })

export const small = calls('small@1.0.0')
export const warm = calls('warm@1.0.0')
