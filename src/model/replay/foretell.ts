// "If the worker died now" (C7): what a resume does with every record of a visit. The same opening
// and the same verdict as the engine's, asked before it.
import { type CallRecord, type Item, isAsked, isHeld, isWait, keyOf } from '../run/records.ts'
import { type ReplayClass, stricter, type Tool } from '../tool/tool.ts'
import type { Entry } from './entry.ts'
import type { Moment } from './key-window.ts'
import { knownRecord, rulesOfNoTool } from './known.ts'
import type { Opening } from './opening.ts'
import type { VisitRows } from './rows.ts'
import { type Verdict, verdict } from './verdict.ts'
import { signalTool, sleepTool, spawnTool } from './waits.ts'

/**
 * `replay`: its recorded result or failure is given again. `rerun`: it is sent (again). `probe`:
 * its upstream is asked first, and a person if that does not know. `park`: a person is asked.
 * `wait`: for a person who is asked already, a time, a signal, a child or a callback: as before.
 */
export type ForetoldAction = 'replay' | 'rerun' | 'probe' | 'park' | 'wait'

interface Fate {
  readonly action: ForetoldAction
  readonly why: string
}

export interface Foretold extends Fate {
  readonly record: CallRecord
  /** The stricter of the recorded class and the tool's present one. */
  readonly replayClass: ReplayClass
}

export interface Foreteller {
  readonly rows: VisitRows
  readonly opening: Opening
  readonly tools: ReadonlyMap<string, Tool>
  readonly moment: Moment
}

export function foretell(visit: Foreteller): Foretold[] {
  const { rows, opening, tools } = visit
  const asked = askedBeside(rows.items)
  return rows.records.flatMap((record) => {
    const entry = opening.entries.get(keyOf(record))
    if (entry === undefined || isReplaced(entry, opening)) return []
    const tool = tools.get(record.tool)
    const replayClass = tool ? stricter(record.replayClass, tool.replayClass) : record.replayClass
    const beside = asked.has(keyOf(record)) ? besideCall : null
    const fate = ruledFate(visit, entry) ?? beside ?? fateOf(visit, record, entry)
    return [{ record, replayClass, ...fate }]
  })
}

/** Records that an open item compares a call with: before it is decided nothing claims them. */
function askedBeside(items: readonly Item[]): ReadonlySet<string> {
  const open = items.filter(({ state, reason }) => state === 'open' && reason === 'drift')
  return new Set(open.flatMap(({ body }) => body.unmatched.map(keyOf)))
}

const besideCall: Fate = { action: 'wait', why: 'a person is asked which call it is' }

const allowed: Fate = { action: 'rerun', why: 'a person has allowed one send' }
const decided: Fate = { action: 'replay', why: 'a person has decided it' }

/** A failed call that was sent again has a record of its own since: this one is nobody's. */
function isReplaced({ key, retried }: Entry, { fates }: Opening): boolean {
  return retried && (fates.get(key)?.useKey ?? null) !== null
}

/** What people said of the record, if it is still to be obeyed. */
function ruledFate({ opening, tools }: Foreteller, entry: Entry): Fate | null {
  const { record } = entry
  if (entry.retried) {
    if (opening.fates.get(entry.key)?.send !== true) return decided
    return isAsked(record.tool) ? { action: 'park', why: 'a person is asked once more' } : allowed
  }
  if (entry.aside && (tools.get(record.tool)?.replayClass ?? 'pure') === 'pure') {
    const why = 'its record is of another version, and no effect followed from it'
    return { action: 'rerun', why }
  }
  if (entry.ruling) return decided
  return entry.grant ? allowed : null
}

function fateOf(visit: Foreteller, row: CallRecord, entry: Entry): Fate {
  const { rows, tools, moment } = visit
  const { verifies, unknownAttempts, settled } = entry
  const tool = tools.get(row.tool)
  const final = row.status === 'committed' || row.status === 'failed'
  if (settled && !final) {
    const waited = row.tool === sleepTool || row.tool === signalTool
    const why = waited ? 'what it waited for has come' : 'what was learnt late answers'
    return { action: 'replay', why }
  }
  const learnt = { verifies, unknownAttempts, asked: true }
  const said = verdict({
    replayClass: tool ? stricter(row.replayClass, tool.replayClass) : row.replayClass,
    decided: false,
    record: knownRecord(row, learnt, rows, tool?.rules ?? rulesOfNoTool, moment),
    unmatched: false,
    quiet: false,
    unresolved: false,
    alike: 'none',
    probe: tool?.rules.probe ? 'unasked' : 'none',
  })
  return inWords(said, row)
}

const words: Record<Verdict['do'], readonly [ForetoldAction, string]> = {
  obey: [decided.action, decided.why],
  return: ['replay', 'its receipt answers'],
  throw: ['replay', 'it failed for certain, and fails again'],
  copy: ['replay', 'the receipt of the same call answers'],
  stay_parked: ['wait', 'a person is asked already'],
  wait_for_quiet: ['park', 'no record matches'],
  wait_for_callback: ['wait', 'its upstream is to call back'],
  probe: ['probe', 'its upstream is asked whether it landed'],
  record_probe: ['replay', 'its upstream says that it landed'],
  dispatch: ['rerun', 'it was certainly not sent'],
  resend: ['rerun', 'with the same key'],
  doubt: ['park', 'nobody knows whether it happened'],
}

/** What is waited for without a call, and by whom it ends. */
const waitWords: Readonly<Record<string, string>> = {
  [sleepTool]: 'it sleeps, and goes on sleeping until the same time',
  [signalTool]: 'it waits for its signal',
  [spawnTool]: 'it waits for its child, which is started already',
}

function inWords(said: Verdict, record: CallRecord): Fate {
  const [action, why] = words[said.do]
  if (said.do === 'doubt' && said.reason === 'tampered') {
    return { action, why: 'its record was altered' }
  }
  if (said.do !== 'wait_for_callback') return { action, why }
  const asked = isAsked(record.tool) || isHeld(record) ? words.stay_parked[1] : why
  return { action, why: isWait(record.tool) ? (waitWords[record.tool] ?? asked) : asked }
}
