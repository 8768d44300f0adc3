// counterfoil chaos
import { existsSync, statSync, writeFileSync } from 'node:fs'
import type { Command } from 'commander'
import type { CounterfoilError } from '../../model/errors.ts'
import { killsDefault, timeoutMsDefault } from '../chaos/defaults.ts'
import type { ChaosFileOptions } from '../chaos/file.ts'
import type { ChaosReport } from '../chaos/report/report.ts'
import { type ChaosEnd, chaosEnds } from '../chaos/types.ts'
import { addGlobals, type Cli, cliOf } from '../cli.ts'
import { exitCodes } from '../report.ts'
import { milliseconds, parseJson, usageError, wholeNumber } from '../usage.ts'

interface Options {
  graph?: string
  input?: string
  kills?: string
  everyBoundary?: boolean
  pairs?: boolean
  seed?: string
  from?: string
  run?: string
  real?: string
  ignore?: string
  ends?: string
  timeout?: string
  concurrency?: string
  store?: string
  blobs?: string
  namespace?: string
  junit?: string
}

const help = `
Runs what the file exports twice without a crash, then once a crash point: its
process is killed (SIGKILL) before or after a call of its store or a dispatch of
a tool, and resumed. Effects are counted by a process that is not killed. It
exits with 1 if anything happened twice or was lost, or if an end differs.

No tool is really run; what a node does without its ctx, it really does. The
file exports the upstreams beside its graphs:
  export const mocks = { send_email: async (input, call) => ({ id: 'm-1' }) }
  export const input = { customer: 'acme' }
For an agent of LangGraph or another runtime, whose tools are guarded:
  export async function agent(cf, { input, runId }) { … }
Or they are replayed from a run that has completed: --from, --run. --real names
tools whose own function may be run against a sandbox: send_email,charge; pure
for all pure ones; all.

Doubts are decided by what the upstreams know, approvals are approved, and days
of sleep are skipped. docs/guides/chaos.md says how to answer otherwise.

Examples:
  counterfoil chaos ./agent.js --every-boundary --junit chaos.xml
  counterfoil chaos ./agent.js --graph outreach --input '{"customer": "acme"}'
  counterfoil chaos ./agent.js --from sqlite:runs.db --run acme-1`

export function addChaos(program: Command): void {
  const command = program
    .command('chaos <file>')
    .description('kill your graph or agent at every boundary, resume it, count effects')
    .option('--graph <name>', 'which graph: name or name@version, if there are several')
    .option('--input <json>', 'its input (what the file exports as input, or null)')
    .option('--kills <n>', `so many crash points, chosen by the seed (${killsDefault})`)
    .option('--every-boundary', 'all of them')
    .option('--pairs', 'a second death while the first is recovered from')
    .option('--seed <n>', 'which crash points (1)')
    .option('--from <url>', 'the store of a recorded run')
    .option('--run <id>', 'the recorded run, whose results are the answers of the tools')
    .option('--real <tools>', 'tools whose own function is run, by comma; or pure, or all')
    .option('--ignore <paths>', 'parts of the end that are not compared, by comma: output.at')
    .option('--ends <state>', 'how it ends without a crash: completed or failed (completed)')
    .option('--timeout <time>', `how long one run may take (${timeoutMsDefault / 1_000}s)`)
    .option('--concurrency <n>', 'crash points at once (one for each core, at most 4)')
    .option('--junit <file>', 'also write the report as JUnit XML')
    .option('--store <url>', 'postgres://…, in schemas of its own (SQLite files of its own)')
    .option('--blobs <dir>', 'the blobDir of the recorded run, if it has one')
    .option('--namespace <name>', 'which namespace (default)')
    .addHelpText('after', help)
    .action((file: string, options: Options) => chaos(cliOf(command), file, options))
  addGlobals(command, { store: false })
}

async function chaos(cli: Cli, file: string, given: Options): Promise<void> {
  const { junit } = given
  if (junit === undefined) return void (await tryOut(cli, file, given))
  // Before all else: nobody wants to hear of a bad path after minutes, and an older report must
  // not stay in its place, whatever becomes of this one.
  const { junitError, junitXml } = await import('../chaos/report/formats.ts')
  writeJunit(junit, junitError(file, 'chaos has not come to its end'))
  try {
    writeJunit(junit, junitXml(await tryOut(cli, file, given)))
  } catch (error) {
    const { code, message } = error as CounterfoilError
    writeJunit(junit, junitError(file, code === undefined ? message : `${code}: ${message}`))
    throw error
  }
}

async function tryOut(cli: Cli, file: string, given: Options): Promise<ChaosReport> {
  const options = optionsOf(file, given)
  // Loaded when it is wanted: no other command should wait for it.
  const { chaosFile } = await import('../chaos/file.ts')
  const { reportLines } = await import('../chaos/report/text.ts')
  const { reportJson } = await import('../chaos/report/formats.ts')
  if (given.real !== undefined) cli.warn(`real functions are run: ${given.real}`)
  cli.progress.begin('chaos')
  const report = await chaosFile({
    ...options,
    onProgress: (text) => cli.progress.say(text),
    onSession: leaveNothing,
  }).finally(() => cli.progress.end())
  cli.out.data(reportJson(report))
  cli.out.text(...reportLines(cli.out, report))
  if (!report.ok) process.exitCode = exitCodes.failure
  return report
}

/** Ctrl-C: no process, no folder, no schema stays. */
function leaveNothing(end: () => Promise<void>): void {
  const stop = (signal: NodeJS.Signals) => {
    const code = signal === 'SIGINT' ? 130 : 143
    void end().then(
      () => process.exit(code),
      () => process.exit(code),
    )
  }
  process.once('SIGINT', stop)
  process.once('SIGTERM', stop)
}

function writeJunit(path: string, text: string): void {
  try {
    if (existsSync(path) && !statSync(path).isFile()) throw new Error('it is not a file')
    writeFileSync(path, text)
  } catch (error) {
    throw usageError(`--junit ${path} cannot be written: ${(error as Error).message}`)
  }
}

function optionsOf(file: string, given: Options): ChaosFileOptions {
  const { graph, input, kills, seed, from, run, real, ignore, timeout, concurrency } = given
  if ((from === undefined) !== (run === undefined)) {
    throw usageError('--from <store> and --run <id> belong together: a recorded run')
  }
  if (kills !== undefined && given.everyBoundary) {
    throw usageError(
      '--kills chooses some crash points, --every-boundary takes all: give only one of them',
    )
  }
  if (given.store !== undefined && !/^postgres(ql)?:/.test(given.store)) {
    throw usageError(
      '--store takes a postgres:// URL; without it, SQLite files are made and removed',
    )
  }
  const words = (text: string) => text.split(',').filter((word) => word !== '')
  return {
    file,
    ...(graph === undefined ? {} : { graph }),
    ...(input === undefined ? {} : { input: parseJson('--input', input) }),
    ...(kills === undefined ? {} : { kills: wholeNumber('--kills', kills) }),
    everyBoundary: given.everyBoundary === true,
    pairs: given.pairs === true,
    ...(seed === undefined ? {} : { seed: wholeNumber('--seed', seed) }),
    ...(from === undefined || run === undefined ? {} : { from: recorded(from, run, given.blobs) }),
    ...(real === undefined ? {} : { real: words(real) }),
    ...(ignore === undefined ? {} : { ignore: words(ignore) }),
    ...(given.ends === undefined ? {} : { ends: endOf(given.ends) }),
    ...(timeout === undefined ? {} : { timeoutMs: milliseconds('--timeout', timeout) }),
    ...(concurrency === undefined
      ? {}
      : { concurrency: wholeNumber('--concurrency', concurrency, 64) }),
    ...(given.store === undefined ? {} : { store: given.store }),
    ...(given.namespace === undefined ? {} : { namespace: given.namespace }),
  }
}

function endOf(given: string): ChaosEnd {
  const known = chaosEnds.find((one) => one === given)
  if (known !== undefined) return known
  throw usageError(`--ends ${given}: it is one of ${chaosEnds.join(', ')}`)
}

function recorded(store: string, run: string, blobs: string | undefined) {
  return { store, run, ...(blobs === undefined ? {} : { blobDir: blobs }) }
}
