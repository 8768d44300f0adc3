// counterfoil ledger show
import type { Command } from 'commander'
import {
  type Ledger,
  type LedgerEntry,
  readLedger,
  withResults,
} from '../../../client/ledger/ledger.ts'
import { entryJson } from '../../../client/wire/ledger.ts'
import { decisionJson } from '../../../client/wire/rows.ts'
import type { Run } from '../../../model/run/records.ts'
import { addGlobals, type Cli, cliOf, withStore } from '../../cli.ts'
import { findRun } from '../../find.ts'
import { decisionWords, entryLines, visitTitle } from '../../show/ledger-lines.ts'
import { plural } from '../../show/text.ts'
import { suggestion, wholeNumber } from '../../usage.ts'

interface Options {
  visit?: string
  tool?: string
  full?: boolean
  limit?: string
}

const callMax = 100

const help = `
Each call with its attempts (every single dispatch), what was learnt late about
them (evidence), and what people decided.

Examples:
  counterfoil ledger show acme-1
  counterfoil ledger show acme-1 --visit 3 --full     inputs, results, keys, ids
  counterfoil ledger show acme-1 --tool send_email --json`

export function addLedgerShow(ledger: Command): void {
  const command = ledger
    .command('show <run>')
    .description('show every call of a run with its attempts and decisions')
    .option('--visit <n>', 'only calls of this visit')
    .option('--tool <name>', 'only calls of this tool')
    .option('--full', 'also inputs, results, errors, keys and ids')
    .option('--limit <n>', `the last so many (${callMax})`)
    .addHelpText('after', help)
    .action((id: string, options: Options) => showLedger(cliOf(command), id, options))
  addGlobals(command)
}

async function showLedger(cli: Cli, runId: string, options: Options): Promise<void> {
  const filter = {
    countMax: wholeNumber('--limit', options.limit ?? `${callMax}`),
    ...(options.visit === undefined ? {} : { visit: wholeNumber('--visit', options.visit) }),
    ...(options.tool === undefined ? {} : { tool: options.tool }),
    onProgress: (calls: number) => cli.progress.say(`${plural(calls, 'call')} read`),
  }
  const full = options.full === true
  await withStore(cli, async (cf) => {
    const run = await findRun(cli, cf, runId)
    const found = await readLedger(cf.store, run, filter)
    // A program is given everything; a person what they asked for.
    const whole = full || cli.out.json
    const entries = whole ? await withResults(cf.store, run, found.entries) : found.entries
    cli.out.data({
      run_id: runId,
      calls: entries.map(entryJson),
      left_out: found.left,
      other_decisions: found.decisions.map(decisionJson),
    })
    if (entries.length === 0) {
      const narrowed = options.tool ?? options.visit
      if (narrowed === undefined) return cli.out.text(`Run ${runId} has made no calls.`)
      const known = (await readLedger(cf.store, run)).entries
      return cli.out.text(`No calls like that${hintFor(options, known)}`)
    }
    cli.out.text(...ledgerLines(cli, run, { ...found, entries }, full))
    if (found.left === 0) return
    const kept = keptOptions(options)
    const words = ['ledger', 'show', runId, ...kept, '--limit', `${entries.length + found.left}`]
    cli.out.text('', `${found.left} earlier ones:`, ...cli.again(2, ...words))
  })
}

function hintFor({ tool, visit }: Options, known: readonly LedgerEntry[]): string {
  if (tool !== undefined) {
    const tools = [...new Set(known.map(({ record }) => record.tool))]
    if (!tools.includes(tool)) return suggestion(tool, tools)
  }
  const visits = [...new Set(known.map((entry) => entry.visit))]
  return visit === undefined ? '.' : `; there are calls of visits ${visits.join(', ') || 'none'}.`
}

function keptOptions(options: Options): string[] {
  return [
    ...(options.visit === undefined ? [] : ['--visit', options.visit]),
    ...(options.tool === undefined ? [] : ['--tool', options.tool]),
    ...(options.full === true ? ['--full'] : []),
  ]
}

function ledgerLines(cli: Cli, run: Run, ledger: Ledger, full: boolean): string[] {
  const lines: string[] = []
  let last = ''
  for (const entry of ledger.entries) {
    const title = visitTitle(run, entry)
    if (title !== last) lines.push(...(last === '' ? [] : ['']), cli.out.colors.bold(title))
    last = title
    lines.push(...entryLines(cli, entry, full))
  }
  if (ledger.decisions.length > 0) {
    lines.push('', cli.out.colors.bold('Other decisions'))
    for (const row of ledger.decisions) lines.push(...decisionWords(cli, row, 2))
  }
  return lines
}
