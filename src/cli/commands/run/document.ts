// counterfoil run document
import type { Command } from 'commander'
import { documentJson } from '../../../client/wire/run.ts'
import { systemClock } from '../../../clock.ts'
import type { RunDocument } from '../../../model/run/document.ts'
import { addGlobals, type Cli, cliOf, withStore } from '../../cli.ts'
import { findOwnRun } from '../../find.ts'
import { field, jsonField } from '../../show/fields.ts'
import { renderTable } from '../../show/table.ts'
import { plural, relative } from '../../show/text.ts'

const help = `
What an agent's context is rebuilt from: the task, the plan, what was done with
its evidence, what is under way, what people decided, and what it has cost.

A graph may read its own state into it (its \`document\`). That is code, which
this command does not have: it takes what is in the state under the names
contract, plan, messages, memory, promptHash and threadId.

Examples:
  counterfoil run document acme-1
  counterfoil run document acme-1 --json | jq .side_effects`

export function addRunDocument(run: Command): void {
  const command = run
    .command('document <run>')
    .description('show everything that the context of its agent is made of')
    .addHelpText('after', help)
    .action((id: string) => showDocument(cliOf(command), id))
  addGlobals(command)
}

async function showDocument(cli: Cli, runId: string): Promise<void> {
  const document = await withStore(cli, async (cf) => {
    await findOwnRun(cli, cf, runId)
    return cf.run(runId).document()
  })
  cli.out.data(documentJson(document))
  cli.out.text(...documentLines(cli, document))
}

function documentLines(cli: Cli, document: RunDocument): string[] {
  const { contract, cursor, budget, messages } = document
  const { bold } = cli.out.colors
  const known = (name: string, value: unknown) =>
    value === null || value === undefined ? [] : jsonField(cli, name, value)
  const cost = [
    plural(budget.calls, 'call'),
    ...(budget.tokensIn + budget.tokensOut === 0
      ? []
      : [`${budget.tokensIn} tokens in`, `${budget.tokensOut} out`]),
    ...(budget.usd === 0 ? [] : [`${budget.usd.toFixed(4)} USD`]),
  ]
  return [
    bold(document.runId),
    ...field(cli, 'agent', document.agentVersion),
    ...field(cli, 'at', `node ${cursor.node}, visit ${cursor.visit}, ${cursor.state}`),
    ...(document.waitingFor === null
      ? []
      : field(cli, 'waits for', document.waitingFor.items.join(', ') || document.waitingFor.kind)),
    ...known('thread', document.threadId),
    ...known('prompt', document.promptHash),
    ...known('goal', contract.goal),
    ...known('done when', contract.definitionOfDone),
    ...known('plan', document.plan),
    ...known('memory', document.memory),
    ...field(cli, 'cost', cost.join(', ')),
    ...(messages.length === 0 ? [] : field(cli, 'messages', `${messages.length}, the last:`)),
    ...(messages.length === 0 ? [] : jsonField(cli, '', messages.at(-1))),
    ...tables(cli, document),
  ]
}

function tables(cli: Cli, document: RunDocument): string[] {
  const { width, colors } = cli.out
  const now = systemClock.now()
  const { sideEffects, completed, pendingCalls, decisions } = document
  const table = (title: string, heads: readonly string[], rows: readonly string[][]) => {
    if (rows.length === 0) return []
    const columns = heads.map((head, index) => ({ head, yields: heads.length - index }))
    return ['', colors.bold(title), ...renderTable(columns, rows, { width })]
  }
  const pure = completed.length - sideEffects.length
  return [
    ...table(
      `Side effects (and ${plural(pure, 'pure call')})`,
      ['NODE', 'TOOL', 'EXTERNAL ID', 'WHEN'],
      sideEffects.map((row) => [
        row.node,
        row.tool,
        row.evidence.externalId ?? '',
        relative(row.at, now),
      ]),
    ),
    ...table(
      'Under way',
      ['NODE', 'TOOL', 'STATUS', 'ATTEMPTS', 'SINCE'],
      pendingCalls.map((row) => [
        row.node,
        row.tool,
        row.status,
        `${row.attempt}`,
        relative(row.since, now),
      ]),
    ),
    ...table(
      'Decisions',
      ['DECIDED', 'BY', 'WHEN', 'WHY'],
      decisions.map((row) => [row.outcome, row.by, relative(row.at, now), row.reason]),
    ),
  ]
}
