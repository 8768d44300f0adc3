// counterfoil run …
import type { Command } from 'commander'
import { finishGroup } from '../group.ts'
import { addRunDocument } from './run/document.ts'
import { addRunEvents } from './run/events.ts'
import { addRunPreview } from './run/preview.ts'
import { addRunRetry } from './run/retry.ts'
import { addRunShow } from './run/show.ts'
import { addRunSignal } from './run/signal.ts'
import { addRunState } from './run/state.ts'
import { addStops } from './run/stop.ts'

const help = `
Examples:
  counterfoil run show acme-1 --events
  counterfoil run pause acme-1 --wait
  counterfoil run retry acme-1 --reason 'the mail server is back'`

export function addRun(program: Command): void {
  const command = program
    .command('run')
    .description('look after one run: show, pause, resume, cancel, retry, preview, …')
    .addHelpText('after', help)
  addRunShow(command)
  addStops(command)
  addRunRetry(command)
  addRunSignal(command)
  addRunPreview(command)
  addRunEvents(command)
  addRunState(command)
  addRunDocument(command)
  finishGroup(command, { otherwise: (word) => `show ${word}` })
}
