// A file as a user of `counterfoil dev` would write it.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { bin, folder } from './harness.ts'

export const library = new URL('../index.js', pathToFileURL(bin)).href
const kindOf = "{ '~standard': { version: 1, vendor: 't', validate: (value) => ({ value }) } }"

/** A module as a user would write it, with a timer that would keep the process alive for ever. */
export function module(name = 'agent.mjs'): string {
  const path = join(folder(), name)
  writeFileSync(
    path,
    `import { tool, workflow } from '${library}'
    import { setTimeout as sleep } from 'node:timers/promises'
    import { appendFileSync } from 'node:fs'
    const any = ${kindOf}
    const slow = tool({ name: 'slow', replayClass: 'unsafe_on_replay', input: any,
      run: async ({ file, ms }) => {
        appendFileSync(file, 'begun ')
        await sleep(ms)
        appendFileSync(file, 'ended ')
        return { ms }
      } })
    export const quick = workflow({ id: 'quick@1.0.0', input: any, run: async (x) => ({ got: x }) })
    export default [workflow({ id: 'slow@1.0.0', input: any, tools: [slow],
      run: async (input, ctx) => ctx.call(slow, input) })]
    export const asking = workflow({ id: 'asking@1.0.0', input: any,
      run: async (_, ctx) => ctx.ask({ title: 'Shall it?' }) })
    export const notOne = { id: 'x@1.0.0' }
    setInterval(() => {}, 1_000)`,
  )
  return path
}
