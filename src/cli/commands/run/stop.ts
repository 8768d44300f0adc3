// counterfoil run pause, resume and cancel
import type { Command } from 'commander'
import type { Stopping } from '../../../client/run/stop.ts'
import { runJson } from '../../../client/wire/rows.ts'
import type { Run } from '../../../model/run/records.ts'
import { isEnded } from '../../../model/run/states.ts'
import type { Counterfoil } from '../../../open.ts'
import { addGlobals, type Cli, cliOf, reasonOf, userName, withStore } from '../../cli.ts'
import { findRun } from '../../find.ts'
import { exitCodes } from '../../report.ts'
import { wrap } from '../../show/text.ts'
import { whoGoesOn } from '../../show/worker-life.ts'
import { type Interrupt, interrupted, waitFor } from '../../wait.ts'

interface Options {
  by?: string
  reason?: string
  wait?: boolean
}

interface Kind {
  readonly description: string
  readonly wait: string
  readonly help: string
  /** Whether there is anything to ask for. */
  readonly needed: (run: Run) => boolean
  /** Whether it has come about. */
  readonly done: (run: Run) => boolean
  /** What `--wait` waits for: a run that is resumed still has to be taken. */
  readonly over: (run: Run) => boolean
}

const isPausing = (run: Run) => run.stop?.to === 'paused'

const kinds: Readonly<Record<Stopping, Kind>> = {
  pause: {
    description: 'stop a run at the next safe point, so that it can go on later',
    wait: 'until it is paused',
    help: `
Nothing new is begun; a call under way finishes and is recorded; then the run is
paused. A run that waits for a person is paused at once: decisions are kept, and
count when it is resumed.

Examples:
  counterfoil run pause acme-1 --reason 'the customer called'
  counterfoil run pause acme-1 --wait        until it is really paused`,
    needed: (run) => run.state !== 'paused' && run.stop === null,
    done: (run) => run.state === 'paused',
    over: (run) => run.state === 'paused' || !isPausing(run),
  },
  resume: {
    description: 'continue a paused run, or take back a pause not yet made',
    wait: 'until a worker has taken it',
    help: `
The run goes on where it stood: what was recorded is read back and not sent
again.

Examples:
  counterfoil run resume acme-1
  counterfoil run resume acme-1 --wait       until a worker has taken it`,
    needed: (run) => run.state === 'paused' || isPausing(run),
    done: (run) => run.state !== 'paused' && !isPausing(run),
    over: (run) => run.state !== 'paused' && run.state !== 'pending',
  },
  cancel: {
    description: 'end a run for good; what was committed stays',
    wait: 'until it is cancelled',
    help: `
As a pause, but for good: a call under way finishes and is recorded, and nothing
that was done is undone. Items of the run are closed.

Examples:
  counterfoil run cancel acme-1 --reason 'ordered twice'
  counterfoil run cancel acme-1 --wait       until it is really cancelled`,
    needed: (run) => run.state !== 'cancelled' && run.stop?.to !== 'cancelled',
    done: (run) => run.state === 'cancelled',
    over: (run) => isEnded(run.state),
  },
}

export function addStops(run: Command): void {
  for (const what of Object.keys(kinds) as Stopping[]) {
    const kind = kinds[what]
    const command = run
      .command(`${what} <run>`)
      .description(kind.description)
      .option('--by <name>', 'who wants it (the user of this machine)')
      .option('--reason <text>', "why; kept in the run's history")
      .option('--wait', `return only when it is so: ${kind.wait}`)
      .addHelpText('after', kind.help)
      .action((id: string, options: Options) => stopRun(cliOf(command), what, id, options))
    addGlobals(command)
  }
}

async function stopRun(cli: Cli, what: Stopping, runId: string, options: Options): Promise<void> {
  const by = userName(options.by)
  const reason = reasonOf(`run ${what}`, options.reason, `${what} on the command line`)
  await withStore(cli, async (cf) => {
    const before = await findRun(cli, cf, runId)
    const changed = kinds[what].needed(before)
    // Whoever sees the wish may say at once that it is enough.
    const enough = options.wait === true ? interrupted() : null
    // Said again after it has come about, it is no failure: a script may not know.
    if (changed || !kinds[what].done(before)) await cf.run(runId)[what]({ by, reason })
    const after = await (enough ? waitUntil(cli, cf, what, runId, enough) : findRun(cli, cf, runId))
    const done = kinds[what].done(after)
    cli.out.data({ run: runJson(after), asked: what, changed, done })
    const waited = options.wait === true
    cli.out.text(...wordsFor(cli, what, { before, after, changed, waited }))
    const more = await workerWords(cf, after)
    if (more !== null) cli.out.text(...wrap(more, cli.out.width))
    if (options.wait === true && !done) process.exitCode ??= exitCodes.failure
  })
}

async function waitUntil(
  cli: Cli,
  cf: Counterfoil,
  what: Stopping,
  runId: string,
  enough: Interrupt,
): Promise<Run> {
  const look = async () => {
    const run = await findRun(cli, cf, runId)
    if (kinds[what].over(run)) return run
    const held = run.workerId === null ? '' : `, in worker ${run.workerId}`
    cli.progress.say(`waiting ${kinds[what].wait}: run ${runId} is ${run.state}${held}`)
    return null
  }
  const over = await waitFor(cli, `waiting for run ${runId}`, enough, look)
  return over ?? findRun(cli, cf, runId)
}

interface Course {
  readonly before: Run
  readonly after: Run
  readonly changed: boolean
  readonly waited: boolean
}

function wordsFor(cli: Cli, what: Stopping, course: Course): string[] {
  const { before, after, changed, waited } = course
  const { runId, state, stop } = after
  const to = what === 'pause' ? 'paused' : 'cancelled'
  const lines = (text: string) => wrap(text, cli.out.width)
  const wanted = what === 'resume' ? 'resume' : to
  if (!changed && kinds[what].done(before)) {
    const why = what === 'resume' ? 'there is nothing to resume' : 'already'
    const comma = what === 'resume' ? `: ${why}, and` : ` ${why};`
    return lines(`Run ${runId} is ${state}${comma} nothing was changed.`)
  }
  if (stop !== null) {
    const rather = stop.to === wanted ? '' : ` It was asked by ${stop.by} to be ${stop.to}.`
    const who = after.workerId === null ? 'the next worker' : `worker ${after.workerId}`
    const asked = changed ? 'Asked' : `Asked already, by ${stop.by}`
    const wait = waited ? 'The request stays; the waiting has ended.' : '--wait waits for it.'
    const text = `${asked}: ${who} finishes what is under way, and then run ${runId} is ${stop.to}.`
    return lines(`${text}${rather} ${wait}`)
  }
  if (what === 'resume') {
    const held = before.state === 'paused' ? 'goes on' : 'goes on: the pause was taken back'
    return lines(`Run ${runId} ${held}. It is ${state}.`)
  }
  if (!kinds[what].done(after)) {
    const why = isEnded(state) ? `it ended before it could be ${to}` : 'somebody withdrew it'
    return lines(`Run ${runId} is ${state}: ${why}.`)
  }
  if (what === 'cancel') return lines(`Run ${runId} is cancelled. What it committed stays.`)
  return [`Run ${runId} is paused. Let it go on with:`, ...cli.again(2, 'run', 'resume', runId)]
}

/** Who does what is still to be done. */
async function workerWords(cf: Counterfoil, run: Run): Promise<string | null> {
  if (run.state === 'pending') return whoGoesOn(cf, run)
  if (run.stop === null) return null
  const holder = (await cf.store.workers()).find((row) => row.workerId === run.workerId)
  if (holder?.expired !== true) return null
  return (
    `Worker ${holder.workerId} (pid ${holder.pid} on ${holder.host}) has not renewed its lease: ` +
    'if it is gone, the next worker that takes the run does it.'
  )
}
