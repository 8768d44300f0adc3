// The simulator as a program of its own, bundled by scripts/bundle.mjs: without a test runner
// between it and the processor.
//   main.js batch <from> <count> [late]   schedules from these seeds; totals as JSON
//   main.js programs <from> <count> <kind>   random programs of one run, crashed at every boundary
//   main.js trace <seed>                  one schedule, line by line
//   main.js shrink <seed>                 the smallest plan that still fails like this one
import { batch as programs } from '../batch.ts'
import type { Kind } from '../program.ts'
import { batch } from './batch.ts'
import { runFleet } from './fleet.ts'
import { planOf } from './plan.ts'
import { shrink } from './shrink.ts'

const [what, first = '1', count = '100', kind = ''] = process.argv.slice(2)
const tooLate = kind === 'late'
const say = (value: unknown) => process.stdout.write(`${JSON.stringify(value)}\n`)
if (what === 'batch') say(await batch(Number(first), Number(count), { tooLate }))
else if (what === 'programs') say(await programs(kind as Kind, Number(first), Number(count), 200))
else if (what === 'trace') {
  const { lines, bad, trace } = await runFleet(planOf(first), { keep: true })
  process.stdout.write(`${[...lines, `trace ${trace}`, ...bad].join('\n')}\n`)
} else if (what === 'shrink') say(await shrink(planOf(first)))
process.exit(0)
