// counterfoil checkpoint diff
import type { Command } from 'commander'
import { addGlobals, type Cli, cliOf, withStore } from '../../cli.ts'
import { findOwnRun } from '../../find.ts'
import { type Change, stateDiff } from '../../show/state-diff.ts'
import { clean, clip, plural } from '../../show/text.ts'
import { wholeNumber } from '../../usage.ts'

const help = `
  + path  value            it is new
  - path  value            it is gone
  ~ path  before → after   it has another value

Examples:
  counterfoil checkpoint diff acme-1 3 4
  counterfoil checkpoint diff acme-1 1 4 --json | jq '.changes[].path'`

export function addCheckpointDiff(checkpoint: Command): void {
  const command = checkpoint
    .command('diff <run> <visit> <visit>')
    .description('what has changed in the state between two visits')
    .addHelpText('after', help)
    .action((id: string, from: string, to: string) => diff(cliOf(command), id, from, to))
  addGlobals(command)
}

async function diff(cli: Cli, runId: string, first: string, second: string): Promise<void> {
  const from = wholeNumber('the first visit', first)
  const to = wholeNumber('the second visit', second)
  const changes = await withStore(cli, async (cf) => {
    await findOwnRun(cli, cf, runId)
    const handle = cf.run(runId)
    return stateDiff(await handle.state(from), await handle.state(to))
  })
  cli.out.data({ run_id: runId, from, to, changes })
  if (changes.length === 0) {
    return cli.out.text(`The state is the same at visits ${from} and ${to}.`)
  }
  const title = `${plural(changes.length, 'change')} from visit ${from} to ${to}`
  cli.out.text(cli.out.colors.bold(title), ...changes.map((one) => changeLine(cli, one)))
}

function changeLine(cli: Cli, { path, kind, before, after }: Change): string {
  const { colors, width } = cli.out
  const paints = { added: colors.green, removed: colors.red, changed: colors.yellow }
  const marks = { added: '+', removed: '-', changed: '~' }
  const name = clip(clean(path === '' ? '(the state)' : path), Math.floor(width / 2), 'ends')
  const room = width - name.length - 4
  const values = kind === 'changed' ? changed(before, after, room) : short(after ?? before, room)
  return `${paints[kind](`${marks[kind]} ${name}`)}  ${values}`
}

function changed(before: unknown, after: unknown, room: number): string {
  // What a text has grown by says more than its beginning twice.
  if (typeof before === 'string' && typeof after === 'string' && after.startsWith(before)) {
    return `… ${short(after.slice(before.length), room - 2)}`
  }
  const half = Math.floor((room - 3) / 2)
  const [a, b] = [text(before), text(after)]
  const left = a.length <= half ? a : clip(a, Math.max(half, room - 3 - b.length))
  return `${left} → ${clip(b, room - 3 - left.length)}`
}

function short(value: unknown, room: number): string {
  return clip(text(value), room)
}

function text(value: unknown): string {
  return clean(JSON.stringify(value) ?? 'nothing')
}
