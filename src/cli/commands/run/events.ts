// counterfoil run events
import type { Command } from 'commander'
import { eventJson } from '../../../client/wire/rows.ts'
import { pause, systemClock } from '../../../clock.ts'
import * as limits from '../../../model/limits.ts'
import type { Event, Run } from '../../../model/run/records.ts'
import { isEnded } from '../../../model/run/states.ts'
import type { Counterfoil } from '../../../open.ts'
import { rowsOf } from '../../../store/pages.ts'
import type { Page } from '../../../store/store.ts'
import { addGlobals, type Cli, cliOf, withStore } from '../../cli.ts'
import { findRun, tailOf } from '../../find.ts'
import { eventLine, eventTable } from '../../show/event-lines.ts'
import { suggestion, wholeNumber } from '../../usage.ts'
import { interrupted } from '../../wait.ts'

interface Options {
  follow?: boolean
  kind?: string
  limit?: string
}

const eventMax = 50

const help = `
With --follow events are printed as they come, until the run has ended or you
press Ctrl-C; with --json each is a JSON document on a line of its own.

Examples:
  counterfoil run events acme-1
  counterfoil run events acme-1 --kind state --limit 500
  counterfoil run events acme-1 --follow`

export function addRunEvents(run: Command): void {
  const command = run
    .command('events <run>')
    .description("show a run's history, and follow it")
    .option('-f, --follow', 'go on as events come, until the run has ended')
    .option('--kind <kinds>', 'only these kinds, with commas between')
    .option('--limit <n>', `the last so many (${eventMax})`)
    .addHelpText('after', help)
    .action((id: string, options: Options) => showEvents(cliOf(command), id, options))
  addGlobals(command)
}

interface Wanted {
  readonly countMax: number
  readonly kinds: readonly string[] | null
}

async function showEvents(cli: Cli, runId: string, options: Options): Promise<void> {
  const wanted = {
    countMax: wholeNumber('--limit', options.limit ?? `${eventMax}`),
    kinds: options.kind === undefined ? null : options.kind.split(',').map((kind) => kind.trim()),
  }
  await withStore(cli, async (cf) => {
    const run = await findRun(cli, cf, runId)
    await (options.follow === true ? follow(cli, cf, run, wanted) : list(cli, cf, run, wanted))
  })
}

async function list(cli: Cli, cf: Counterfoil, run: Run, wanted: Wanted): Promise<void> {
  const seen = new Set<string>()
  const keep = (event: Event) => {
    seen.add(event.kind)
    return wanted.kinds?.includes(event.kind) ?? true
  }
  const all = rowsOf((page) => cf.store.listEvents(run, page))
  const { rows, left } = await tailOf(cli, 'event', all, { countMax: wanted.countMax, keep })
  cli.out.data({ events: rows.map(eventJson), left_out: left })
  if (rows.length === 0) {
    const strange = wanted.kinds?.find((kind) => !seen.has(kind)) ?? ''
    const hint = strange === '' ? '' : suggestion(strange, [...seen])
    return cli.out.text(`No events like that${hint}`)
  }
  cli.out.text(...eventTable(cli, rows))
  if (left === 0) return
  const kept = wanted.kinds === null ? [] : ['--kind', wanted.kinds.join(',')]
  const words = ['run', 'events', run.runId, ...kept, '--limit', `${rows.length + left}`]
  cli.out.text('', `${left} earlier ones:`, ...cli.again(2, ...words))
}

/** Events are listed in the order of making: the new ones are behind the last that was seen. */
async function follow(cli: Cli, cf: Counterfoil, run: Run, wanted: Wanted): Promise<void> {
  const enough = interrupted()
  const tail = new Tail(cf, run)
  let first = true
  for (;;) {
    // Asked before the events are: what happens in between is seen at the next look.
    const ended = isEnded((await findRun(cli, cf, run.runId)).state)
    const fresh = (await tail.next()).filter((event) => wanted.kinds?.includes(event.kind) ?? true)
    for (const event of first ? fresh.slice(-wanted.countMax) : fresh) {
      cli.progress.end()
      cli.out.line(eventJson(event))
      cli.out.text(eventLine(cli, event))
    }
    first = false
    cli.progress.end()
    if (ended || enough.said !== null) break
    await Promise.race([enough.promise, pause(systemClock, limits.pollMs)])
  }
  enough.forget()
}

class Tail {
  private readonly cf: Counterfoil
  private readonly run: Run
  private cursor: string | null = null
  /** How many of the last page's events are known. */
  private known = 0

  constructor(cf: Counterfoil, run: Run) {
    this.cf = cf
    this.run = run
  }

  async next(): Promise<Event[]> {
    const found: Event[] = []
    for (;;) {
      const page: Page<Event> = await this.cf.store.listEvents(this.run, {
        countMax: limits.pageSizeMax,
        ...(this.cursor === null ? {} : { cursor: this.cursor }),
      })
      found.push(...page.items.slice(this.known))
      this.known = page.items.length
      if (page.next === null) return found
      this.cursor = page.next
      this.known = 0
    }
  }
}
