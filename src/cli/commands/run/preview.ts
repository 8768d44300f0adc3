// counterfoil run preview
import type { Command } from 'commander'
import type { Preview, PreviewAction } from '../../../client/run/preview.ts'
import { previewJson } from '../../../client/wire/run.ts'
import { addGlobals, type Cli, cliOf, withStore } from '../../cli.ts'
import { findRun } from '../../find.ts'
import { renderTable } from '../../show/table.ts'
import { plural, wrap } from '../../show/text.ts'

const help = `
  replay   its recorded result or failure is given again; nothing is sent
  rerun    it is sent again, which its class allows
  probe    its upstream is asked first, and a person if that does not know
  park     a person is asked whether it happened
  wait     for what it waits for now: a person, a time, a signal, a child

Only the present visit is looked at: earlier ones are never run again. Nothing
is changed by it.

Example:
  counterfoil run preview acme-1`

export function addRunPreview(run: Command): void {
  const command = run
    .command('preview <run>')
    .description('what would happen to each call if its worker died now')
    .addHelpText('after', help)
    .action((id: string) => preview(cliOf(command), id))
  addGlobals(command)
}

async function preview(cli: Cli, runId: string): Promise<void> {
  const found = await withStore(cli, async (cf) => {
    await findRun(cli, cf, runId)
    return cf.run(runId).preview()
  })
  cli.out.data(previewJson(found))
  cli.out.text(...previewLines(cli, found))
}

function previewLines(cli: Cli, preview: Preview): string[] {
  const { run, calls, notes } = preview
  const { colors, width } = cli.out
  const paint: Record<PreviewAction, (text: string) => string> = {
    replay: colors.green,
    rerun: colors.yellow,
    probe: colors.yellow,
    park: colors.red,
    wait: colors.yellow,
  }
  const columns = [
    { head: 'CALL', yields: 2, least: 12 },
    { head: 'CLASS', yields: 3, least: 6 },
    { head: 'STATUS', yields: 4 },
    { head: 'THEN' },
    { head: 'BECAUSE', yields: 1, least: 12 },
  ] as const
  const rows = calls.map((call) => [
    `${call.tool}#${call.nth}`,
    call.replayClass,
    call.status,
    { text: call.action, paint: paint[call.action] },
    call.why,
  ])
  const where = `Run ${run.runId} is ${run.state}, at node ${run.node}, visit ${run.visit}.`
  const sum = `If its worker died now: ${counts(preview)}.`
  return [
    ...wrap(where, width),
    ...wrap(calls.length === 0 ? 'No call of this visit is on record.' : sum, width),
    ...(calls.length === 0 ? [] : ['', ...renderTable(columns, rows, { width })]),
    ...notes.flatMap((note, index) => [...(index === 0 ? [''] : []), ...noteLines(cli, note)]),
  ]
}

function counts({ calls }: Preview): string {
  const words: readonly (readonly [string, readonly PreviewAction[]])[] = [
    ['replayed', ['replay']],
    ['sent again', ['rerun']],
    ['for a person to decide', ['park', 'probe', 'wait']],
  ]
  return words
    .map(([word, actions]) => {
      const count = calls.filter((call) => actions.includes(call.action)).length
      return count === 0 ? '' : `${plural(count, 'call')} ${word}`
    })
    .filter((text) => text !== '')
    .join(', ')
}

function noteLines(cli: Cli, note: string): string[] {
  const text = `${note.slice(0, 1).toUpperCase()}${note.slice(1)}.`
  return wrap(text, cli.out.width).map((line) => cli.out.colors.dim(line))
}
