// The demo as a whole: two stories, then what they came to.
import { fileURLToPath } from 'node:url'
import { type Cli, pasteable } from '../cli.ts'
import { shellWord, wrap } from '../show/text.ts'
import type { Choice } from './choose.ts'
import { type CounterfoilEnd, counterfoilStory } from './counterfoil-story.ts'
import { type PlainEnd, plainStory } from './plain-story.ts'
import { must, Stage } from './stage.ts'
import { sideBySide } from './summary.ts'
import { folderVariable, outboxOf } from './world.ts'

export async function runDemo(cli: Cli, options: { auto?: boolean; data?: string }): Promise<void> {
  const auto = options.auto === true || !cli.interactive
  const stage = new Stage(cli, { auto, data: options.data })
  endOnSignals()
  introduce(stage, options.auto !== true && auto)
  try {
    const plain = await plainStory(stage)
    const counterfoil = await counterfoilStory(stage)
    await stage.children.endAll()
    if (auto) check(counterfoil)
    summarise(stage, plain, counterfoil)
  } finally {
    await stage.children.endAll()
  }
}

/** The children end with the process, by its exit handler. */
function endOnSignals(): void {
  const codes = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 }
  for (const [signal, code] of Object.entries(codes)) process.on(signal, () => process.exit(code))
}

const about =
  'An agent reads context, plans, sends an e-mail, waits for approval and files an order. Its ' +
  'worker is killed after the mail server has taken the e-mail, and before the worker knows. ' +
  'Then another worker starts.'

function introduce(stage: Stage, decidesAlone: boolean): void {
  const { out } = stage.cli
  out.text(...wrap(about, out.width), '', `Everything is in ${stage.folder}`)
  if (decidesAlone) out.text('There is no terminal to ask in: the demo decides, as with --auto.')
}

function check(end: CounterfoilEnd): void {
  must(end.mails === 1, `Counterfoil sent ${end.mails} mails, not 1`)
  must(end.state === 'completed', `the run is ${end.state}, not completed`)
}

function summarise(stage: Stage, plain: PlainEnd, end: CounterfoilEnd): void {
  const { cli, folder, tookMs } = stage
  const { out } = cli
  out.data({
    mails: { naive: plain.mails, counterfoil: end.mails },
    items: end.items,
    item_id: end.itemId,
    kills: [
      { engine: 'naive', ...plain.kill },
      { engine: 'counterfoil', ...end.kill },
    ],
    takeover_ms: end.takeoverMs,
    decision: end.choice && choiceJson(end.choice),
    run: { run_id: end.runId, state: end.state, output: end.output },
    processes: stage.children.pids,
    folder,
    store: end.store,
    took_ms: tookMs,
  })
  out.text(
    '',
    ...sideBySide(stage, plain, end),
    '',
    `It took ${(tookMs / 1_000).toFixed(1)} s.`,
    '',
  )
  if (!out.json) out.text(...nextSteps(stage, end))
}

function choiceJson({ outcome, by, reason, madeSure }: Choice) {
  return { outcome, by, reason, made_sure: madeSure }
}

/** Commands for the eager, with the real paths. */
function nextSteps(stage: Stage, end: CounterfoilEnd): string[] {
  const { width } = stage.cli.out
  const paste = (...words: string[]) =>
    pasteable([...words, '--store', end.store], { width, indent: 2 })
  const script = (name: string) => fileURLToPath(new URL(`./${name}.js`, import.meta.url))
  if (end.choice !== null) {
    return [
      'Look further:',
      ...paste('run', 'show', end.runId, '--events'),
      `  cat ${shellWord(outboxOf(end.folder))}`,
      `  cat ${shellWord(script('agent'))}`,
    ]
  }
  const answer = ['--result', JSON.stringify({ messageId: end.messageId }), '--version', '1']
  return [
    'The item is open. Look at it, decide it, and let a worker end the run:',
    ...paste('inbox', 'show', end.itemId),
    ...paste('decide', end.itemId, 'happened', ...answer, '--reason', 'seen in the outbox'),
    `  export ${folderVariable}=${shellWord(end.folder)}`,
    ...paste('dev', script('agent')),
  ]
}
