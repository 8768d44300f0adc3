// The same agent on Counterfoil, killed at the same moment: 1 mail, and a person is asked.
import type { ItemView } from '../../client/inbox/inbox.ts'
import type { RunHandle } from '../../client/run/run.ts'
import { type Counterfoil, open } from '../../index.ts'
import type { RunState } from '../../model/run/states.ts'
import { outreach } from './agent.ts'
import type { Child, Exit } from './children.ts'
import { type Choice, chooseApproval, chooseOutcome } from './choose.ts'
import { killAfterAccept, must, type Stage, startMailServer, within } from './stage.ts'
import { readOutbox, storeOf } from './world.ts'

export interface CounterfoilEnd {
  readonly folder: string
  readonly store: string
  readonly runId: string
  readonly mails: number
  readonly kill: Exit
  readonly takeoverMs: number
  readonly items: number
  readonly itemId: string
  /** The first e-mail's. */
  readonly messageId: string
  /** Null if the user left it open. */
  readonly choice: Choice | null
  readonly state: RunState
  readonly output: unknown
}

interface Scene {
  readonly stage: Stage
  readonly folder: string
  readonly server: Child
  readonly cf: Counterfoil
  readonly run: RunHandle
}

const runId = 'acme-1'
const patienceMs = 15_000

export async function counterfoilStory(stage: Stage): Promise<CounterfoilEnd> {
  stage.title('2. Counterfoil', 'the same agent, killed at the same moment')
  const folder = stage.subfolder('counterfoil')
  const store = storeOf(folder)
  const server = await startMailServer(stage, folder)
  const cf = await open({ store, graphs: [outreach], onWarning: () => {} })
  try {
    const run = await cf.start(outreach, { customer: 'acme' }, { runId })
    const scene: Scene = { stage, folder, server, cf, run }
    const { exit, atMs, messageId } = await killed(scene)
    const takeoverMs = await takenOver(scene, atMs)
    const { item, items } = await asked(scene, exit.pid)
    const choice = await decided(scene, item)
    if (choice) await approved(scene)
    const ended = await cf.store.getRun({ namespace: 'default', runId })
    must(ended !== null, 'the run is gone')
    const mails = readOutbox(folder).length
    const output = ended.outputJson === null ? null : JSON.parse(ended.outputJson)
    const { itemId } = item
    const end = { folder, store, runId, mails, kill: exit, takeoverMs, items, itemId, messageId }
    return { ...end, choice, state: ended.state, output }
  } finally {
    await cf.close()
  }
}

async function killed({ stage, server, cf, folder }: Scene) {
  const worker = stage.children.spawn('worker', folder)
  stage.say(`worker ${worker.pid} starts: reads context, plans, sends the e-mail`)
  const kill = await killAfterAccept(stage, server, worker)
  const records = await cf.store.listRecords({ namespace: 'default', runId }, {})
  const call = records.items.find((row) => row.tool === 'send_email')
  must(call?.status === 'pending', `send_email is ${call?.status ?? 'not on record'}, not pending`)
  stage.say('the ledger has the intent to send it, and no receipt')
  return kill
}

async function takenOver({ stage, cf, run, folder }: Scene, killedAtMs: number): Promise<number> {
  const worker = stage.children.spawn('worker', folder)
  const reached = await settled(run, 'waiting_human')
  must(reached === 'waiting_human', `the run is ${reached}, and should wait for a person`)
  const { items } = await cf.store.listEvents({ namespace: 'default', runId }, {})
  const taken = items.find((event) => event.kind === 'taken_over')
  const { cause } = taken?.data ?? {}
  must(
    taken !== undefined && cause === 'dead',
    `the dead worker's run was not taken over: ${cause}`,
  )
  const tookMs = taken.at - killedAtMs
  const seconds = (tookMs / 1_000).toFixed(1)
  stage.say(`worker ${worker.pid} starts and takes the run over, ${seconds} s after the kill`)
  return tookMs
}

async function asked(
  { stage, cf, folder }: Scene,
  deadPid: number,
): Promise<{ item: ItemView; items: number }> {
  const { items } = await cf.inbox.list()
  const [first] = items
  const sent = readOutbox(folder)
  must(first !== undefined && items.length === 1, `the inbox has ${items.length} items, not 1`)
  must(sent.length === 1, `the outbox has ${sent.length} mails, not 1`)
  const item = await cf.inbox.get(first.itemId)
  stage.say('send_email is unsafe_on_replay: not sent again; a person is asked')
  showItem(stage, item, deadPid)
  return { item, items: items.length }
}

function showItem(stage: Stage, item: ItemView, deadPid: number): void {
  const [attempt] = item.attempts
  stage.note(item.title, [
    ['item', item.itemId],
    ['input', JSON.stringify(item.body.input)],
    [`attempt ${attempt?.attempt}`, `by worker ${deadPid}, dead: nobody listens on its socket`],
    ['answer', 'none on record'],
    ['probe', 'none: this mail server cannot be asked'],
    ['outbox', '1 mail'],
  ])
}

async function decided(scene: Scene, item: ItemView): Promise<Choice | null> {
  const { stage, cf, folder, run } = scene
  const [sent] = readOutbox(folder)
  must(sent !== undefined, 'the outbox is empty')
  const choice = await chooseOutcome(stage, item, sent.messageId)
  if (choice === null) return null
  const { outcome, by, reason, madeSure } = choice
  const result = outcome === 'happened' ? { result: { messageId: sent.messageId } } : {}
  const version = (await cf.inbox.get(item.itemId)).version
  await cf.inbox.decide(item.itemId, { outcome, by, reason, madeSure, version, ...result })
  stage.say(`${by} decides: ${outcome} (${reason})`)
  const reached = await settled(run, 'waiting_human')
  if (reached !== 'waiting_human') {
    stage.say(`the run has ended: ${reached}`)
    return choice
  }
  const mails = readOutbox(folder).length
  const expected = outcome === 'did_not_happen' ? 2 : 1
  must(mails === expected, `the outbox has ${mails} mails, not ${expected}`)
  stage.say(
    outcome === 'happened'
      ? `the run goes on: send_email answers ${sent.messageId}, and nothing is sent`
      : 'the run goes on: at your word, and once, the e-mail is sent again',
  )
  return choice
}

async function approved({ stage, cf, run }: Scene): Promise<void> {
  const { items } = await cf.inbox.list({ kind: 'question' })
  const [question] = items
  if (question === undefined) return
  stage.say(`it waits for approval: ${question.title}`)
  const { by, approved, reason } = await chooseApproval(stage, question.title)
  const { version } = question
  const result = { approved }
  await cf.inbox.decide(question.itemId, { outcome: 'respond', by, reason, version, result })
  stage.say(`${by} ${approved ? 'approves' : 'does not approve'}`)
  const ended = await settled(run)
  must(ended === 'completed', `the run is ${ended}, and should be completed`)
  stage.say(approved ? 'file_order files the order; the run is completed' : 'the run is completed')
}

async function settled(run: RunHandle, ...also: RunState[]): Promise<RunState> {
  const states: RunState[] = ['completed', 'failed', 'cancelled', ...also]
  return (await within(patienceMs, `run ${runId}`, run.until(...states))).state
}
