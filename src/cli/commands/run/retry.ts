// counterfoil run retry
import type { Command } from 'commander'
import type { FailedCall, Fate } from '../../../client/run/retry.ts'
import { runJson } from '../../../client/wire/rows.ts'
import { fateWords } from '../../../model/decisions/words.ts'
import { type CounterfoilError, errorFor } from '../../../model/errors.ts'
import type { Run } from '../../../model/run/records.ts'
import type { Counterfoil } from '../../../open.ts'
import { addGlobals, type Cli, cliOf, reasonOf, userName, withStore } from '../../cli.ts'
import { findRun } from '../../find.ts'
import { chosen, typed } from '../../prompt.ts'
import { field, jsonField } from '../../show/fields.ts'
import { plural, wrap } from '../../show/text.ts'
import { whoGoesOn } from '../../show/worker-life.ts'
import { jsonFault, nearest, parseJson, usageError } from '../../usage.ts'

interface Options {
  by?: string
  reason?: string
  call: string[]
  madeSure?: boolean
}

/** A failed call, and whether it may be made again without a word. */
type Failure = FailedCall & { readonly pure: boolean }

const help = `
What succeeded is read back and not sent again. Of every call that failed and is
not pure you say what becomes of it:
  --call 'send_email#0=send'              it is sent once more
  --call 'send_email#0=keep'              it stays failed: the workflow sees it
  --call 'send_email#0=happened:{"id":1}' it did happen, with this result
Without --call they are listed; in a terminal you are asked. A pure call that
failed is made again, unless you say keep.

A call that was failed without knowing its outcome may still arrive: sending it
again is refused for its quiet time, unless you state --made-sure, on record.

Examples:
  counterfoil run retry acme-1 --reason 'the mail server is back'
  counterfoil run retry acme-1 --call 'send_email#0=send' --reason 'it is back'`

export function addRunRetry(run: Command): void {
  const command = run
    .command('retry <run>')
    .description('try a failed run again from its last checkpoint')
    .option('--call <name=fate>', 'send, keep or happened:<json>; for each', collect, [])
    .option('--by <name>', 'who wants it (the user of this machine)')
    .option('--reason <text>', 'why it should succeed now; required, and kept on record')
    .option('--made-sure', 'nothing that was sent before can still arrive')
    .addHelpText('after', help)
    .action((id: string, options: Options) => retryRun(cliOf(command), id, options))
  addGlobals(command)
}

function collect(value: string, before: string[]): string[] {
  return [...before, value]
}

async function retryRun(cli: Cli, runId: string, options: Options): Promise<void> {
  const said = options.call.map(readFate)
  const by = userName(options.by)
  const reason = reasonOf('a retry', options.reason)
  await withStore(cli, async (cf) => {
    const run = await findRun(cli, cf, runId)
    // Of a run that has not failed nothing need be asked: the answer is no.
    const calls = run.state === 'failed' ? await fatesOf(cli, cf, run, said) : {}
    if (calls === null) return cli.out.text('Nothing was done.')
    const madeSure = options.madeSure === true ? { madeSure: true } : {}
    await cf.run(runId).retry({ by, reason, calls, ...madeSure })
    const after = await findRun(cli, cf, runId)
    cli.out.data({ run: runJson(after), calls: shownFates(calls) })
    const fates = Object.entries(calls).map(([name, fate]) => `${name}: ${fateWord(fate)}`)
    const what = fates.length === 0 ? '' : ` (${fates.join(', ')})`
    const text = `Run ${runId} is retried from visit ${after.visit}, by ${by}${what}.`
    cli.out.text(...wrap(text, cli.out.width))
    if (after.state !== 'pending') return
    cli.out.text(...wrap(await whoGoesOn(cf, after), cli.out.width))
  })
}

type Said = readonly [name: string, fate: Fate]

function readFate(text: string): Said {
  const [, name, fate = ''] = /^(.+?)=(.*)$/s.exec(text) ?? []
  if (name === undefined) {
    throw usageError(`--call ${text} says nothing: write --call '${text}=send' (or keep, happened)`)
  }
  if (fate === 'send' || fate === 'keep') return [name, fate]
  const json = /^happened(?::(.*))?$/s.exec(fate)
  if (json === null) {
    const near = nearest(fate, ['send', 'keep', 'happened'])
    const meant = near === null ? 'say send, keep or happened:<json>' : `did you mean ${near}?`
    throw usageError(`--call ${name}: ${JSON.stringify(fate)} cannot be done with a call; ${meant}`)
  }
  if (json[1] === undefined || json[1] === '') {
    throw usageError(`--call ${name}=happened needs its result: '${name}=happened:{"id": "m1"}'`)
  }
  const words = (example: string) => {
    const quote = example.slice(0, 1)
    return `--call ${quote}${name}=happened:${example.slice(1, -1)}${quote}`
  }
  return [name, { happened: parseJson(`--call ${name}=happened`, json[1], words) }]
}

async function fatesOf(
  cli: Cli,
  cf: Counterfoil,
  run: Run,
  said: readonly Said[],
): Promise<Record<string, Fate> | null> {
  const failures = await failuresOf(cf, run)
  const fates: Record<string, Fate> = {}
  for (const [name, fate] of said) {
    const full = fullName(failures, name)
    if (fates[full] !== undefined) throw usageError(`--call names ${full} twice`)
    fates[full] = fate
  }
  for (const { pure, name } of failures) if (pure) fates[name] ??= 'send'
  const open = failures.filter(({ name }) => fates[name] === undefined)
  if (open.length === 0) return fates
  cli.out.text(...failureLines(cli, run, open))
  if (!cli.interactive) {
    cli.out.text('', ...sayLines(cli, run, open))
    throw unsaid(open)
  }
  for (const failure of open) {
    const fate = await askFate(cli, failure)
    if (fate === null) return null
    fates[failure.name] = fate
  }
  return fates
}

async function failuresOf(cf: Counterfoil, run: Run): Promise<Failure[]> {
  const calls = await cf.run(run.runId).failedCalls()
  const records = (await cf.store.load(run))?.records ?? []
  return calls.map((call) => {
    const record = records.find((row) => `${row.tool}#${row.nth}` === call.name)
    return { ...call, pure: record?.replayClass === 'pure' }
  })
}

/** `send_email` will do where only one call of it has failed. */
function fullName(failures: readonly Failure[], name: string): string {
  const names = failures.map((call) => call.name)
  if (names.includes(name)) return name
  const ofTool = failures.filter((call) => call.tool === name).map((call) => call.name)
  const [only] = ofTool
  if (only !== undefined && ofTool.length === 1) return only
  const which = ofTool.length > 1 ? ofTool : names
  const list = which.join(', ') || 'none'
  throw usageError(`--call ${name} names no failed call of this run; those that failed: ${list}`)
}

function failureLines(cli: Cli, run: Run, failures: readonly Failure[]): string[] {
  const count = `${plural(failures.length, 'call')} of run ${run.runId} failed`
  const lines = [...wrap(`${count}, at node ${run.node} (visit ${run.visit}):`, cli.out.width)]
  for (const { name, input, error, unresolved } of failures) {
    const message = (error as { message?: string } | null)?.message ?? JSON.stringify(error)
    lines.push('', `  ${cli.out.colors.bold(name)}`)
    lines.push(...jsonField(cli, 'input', input, { margin: 4, lineMax: 8 }))
    lines.push(...field(cli, 'error', message, { margin: 4 }))
    if (!unresolved) continue
    const blind = 'failed by a person who did not know whether it had happened'
    lines.push(...field(cli, 'outcome', blind, { margin: 4 }))
  }
  return lines
}

function sayLines(cli: Cli, run: Run, failures: readonly Failure[]): string[] {
  const { colors } = cli.out
  const words = failures.flatMap(({ name }) => ['--call', `${name}=send`])
  return [
    colors.bold('Say what becomes of each'),
    `  ${colors.dim('# send: once more; keep: it stays failed; happened:{…}: its result')}`,
    ...cli.again(2, 'run', 'retry', run.runId, ...words, '--reason', '…'),
  ]
}

async function askFate(cli: Cli, { name, unresolved }: Failure): Promise<Fate | null> {
  const risky = unresolved ? { hint: 'it may have happened' } : {}
  const said = await chosen(cli, `What becomes of ${name}?`, [
    { value: 'send', label: fateWords.send, ...risky },
    { value: 'keep', label: fateWords.keep },
    { value: 'happened', label: fateWords.happened },
  ])
  if (said !== 'happened') return said
  const text = await typed(cli, `The result of ${name}, as JSON:`, jsonFault)
  return text === null ? null : { happened: parseJson(name, text) }
}

function unsaid(failures: readonly Failure[]): CounterfoilError {
  const names = failures.map(({ name }) => name)
  return errorFor(
    'RETRY_INVALID',
    `say what to do with ${names.join(', ')}: --call '${names[0]}=send' (or keep, or ` +
      'happened:<json>), for each; nothing was changed',
    { calls: failures.map(({ pure: _, ...call }) => call) },
  )
}

function fateWord(fate: Fate): string {
  if (fate === 'send') return 'sent once more'
  return fate === 'keep' ? 'stays failed' : 'happened'
}

function shownFates(calls: Readonly<Record<string, Fate>>) {
  return Object.entries(calls).map(([name, fate]) => ({
    name,
    fate: typeof fate === 'string' ? fate : 'happened',
    ...(typeof fate === 'string' ? {} : { result: fate.happened }),
  }))
}
