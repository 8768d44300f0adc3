// counterfoil ledger verify
import type { Command } from 'commander'
import { type VerifyReport, verifyLedger } from '../../../client/ledger/verify.ts'
import { verifyJson } from '../../../client/wire/ledger.ts'
import { addGlobals, type Cli, cliOf, withStore } from '../../cli.ts'
import { exitCodes } from '../../report.ts'
import { clean, clip, plural, wrap } from '../../show/text.ts'

const help = `
Checks every signature, and what the rows of a run say about each other and
about its events: times, attempts, holders, places in the order. It changes
nothing, and may be used while workers work. It exits with 1 if it finds
anything.

It also says what it cannot check. A store that verifies was not altered by
someone without the key, within those limits.

Examples:
  counterfoil ledger verify                  all runs of the namespace
  counterfoil ledger verify acme-1           one run
  counterfoil ledger verify --json | jq .findings`

export function addLedgerVerify(ledger: Command): void {
  const command = ledger
    .command('verify [run]')
    .description('check signatures, and that rows do not contradict each other')
    .addHelpText('after', help)
    .action((id: string | undefined) => verify(cliOf(command), id))
  addGlobals(command)
}

async function verify(cli: Cli, runId: string | undefined): Promise<void> {
  const report = await withStore(cli, (cf) =>
    verifyLedger(cf.store, {
      namespace: cli.namespace,
      ...(runId === undefined ? {} : { runId }),
      onProgress: (runs) => cli.progress.say(`${plural(runs, 'run')} verified`),
    }),
  )
  cli.out.data(verifyJson(report))
  cli.out.text(...reportLines(cli, report))
  if (report.found > 0) process.exitCode = exitCodes.failure
}

function reportLines(cli: Cli, report: VerifyReport): string[] {
  const { counts, findings, found, moving } = report
  const { colors, width } = cli.out
  const looked = [
    plural(counts.runs, 'run'),
    plural(counts.calls, 'call'),
    plural(counts.attempts, 'attempt'),
    plural(counts.decisions, 'decision'),
    `${counts.evidence} pieces of evidence`,
    plural(counts.checkpoints, 'checkpoint'),
  ].join(', ')
  const verdict =
    found === 0
      ? colors.green('Nothing is wrong, as far as this can tell.')
      : colors.red(`${plural(found, 'finding')}:`)
  return [
    ...wrap(`Looked at ${looked}.`, width),
    verdict,
    ...(found === 0 ? [] : findingLines(cli, report)),
    ...(found > findings.length ? [`… and ${found - findings.length} more`] : []),
    ...movingLines(cli, moving),
    '',
    colors.bold('What this cannot show'),
    ...report.limits.flatMap((text) => bullet(cli, text)),
  ]
}

function findingLines(cli: Cli, { findings }: VerifyReport): string[] {
  const { colors, width } = cli.out
  return findings.flatMap(({ runId, kind, subject, message }) => [
    `  ${colors.red(kind)}  ${clip(clean(`${runId}  ${subject}`), width - kind.length - 4)}`,
    ...wrap(clean(message), width - 6).map((line) => `      ${line}`),
  ])
}

function movingLines(cli: Cli, moving: readonly string[]): string[] {
  if (moving.length === 0) return []
  const names = moving.length > 5 ? `${moving.slice(0, 5).join(', ')}, …` : moving.join(', ')
  const text =
    `${plural(moving.length, 'run')} changed at every look, so that only the signatures count: ` +
    `${names}. Pause them, or look again.`
  return ['', ...wrap(text, cli.out.width)]
}

function bullet(cli: Cli, text: string): string[] {
  return wrap(text, cli.out.width - 2).map((line, index) =>
    cli.out.colors.dim(`${index === 0 ? '· ' : '  '}${line}`),
  )
}
