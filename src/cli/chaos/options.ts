// What chaos is told, checked before anything is run: `real` as a text would name tools by their
// parts, and a function that nobody meant would be run.
import { type CounterfoilError, errorFor } from '../../model/errors.ts'
import { isRecord } from '../../model/run/state.ts'
import { chaosEnds } from './types.ts'

interface Rule {
  readonly fits: (value: unknown) => boolean
  readonly must: string
}
type Rules = Readonly<Record<string, Rule>>

const isText = (value: unknown) => typeof value === 'string' && value !== ''
const isFunction = (value: unknown) => typeof value === 'function'
const isList = (fits: Rule['fits']) => (value: unknown) => Array.isArray(value) && value.every(fits)

function isRecording(value: unknown): boolean {
  if (!isRecord(value)) return false
  const { store, run, blobDir = 'none' } = value
  return [store, run, blobDir].every(isText)
}

const anything: Rule = { fits: () => true, must: '' }
const text: Rule = { fits: isText, must: 'it must be a text' }
const flag: Rule = { fits: (value) => typeof value === 'boolean', must: 'it is true or false' }
const listener: Rule = { fits: isFunction, must: 'it must be a function' }
const whole: Rule = {
  fits: (value) => Number.isSafeInteger(value) && (value as number) >= 1,
  must: 'it must be a whole number of at least 1',
}

/** For every kind of chaos. */
const common: Rules = {
  kills: whole,
  timeoutMs: whole,
  concurrency: whole,
  input: anything,
  everyBoundary: flag,
  pairs: flag,
  onProgress: listener,
  seed: { fits: Number.isSafeInteger, must: 'it must be a whole number' },
  ends: {
    fits: (value) => chaosEnds.some((end) => end === value),
    must: `it is one of ${chaosEnds.join(', ')}`,
  },
  ignore: { fits: isList(isText), must: "it is a list of paths: ['output.at']" },
  real: { fits: isList(isText), must: "it is a list of tools: ['send_email']; or ['pure']" },
}

const byName: Rule = {
  fits: (value) => isRecord(value) || isFunction(value),
  must: 'it must be an object by name, or a function',
}

export const rulesHere: Rules = {
  ...common,
  // Whoever takes the two says what they must be.
  graph: anything,
  agent: anything,
  graphs: {
    fits: isList((value) => isRecord(value) && value['nodes'] instanceof Map),
    must: 'it is a list of what workflow() or graph() has made',
  },
  mocks: byName,
  answers: byName,
  signals: byName,
  gate: { fits: isFunction, must: 'it must be a function of a call' },
}

export const rulesOfFile: Rules = {
  ...common,
  file: { fits: isText, must: 'it must be the path of a file' },
  graph: { fits: isText, must: "it must be the name of one of the file's graphs" },
  store: text,
  namespace: text,
  onSession: listener,
  from: { fits: isRecording, must: "it is { store: 'sqlite:runs.db', run: 'acme-1' }" },
}

export function checkOptions(options: object, rules: Rules): void {
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined) continue
    const rule = Object.hasOwn(rules, name) ? rules[name] : undefined
    if (rule === undefined) throw unknown(name, rules)
    if (!rule.fits(value)) throw wrong(`\`${name}\` is ${shown(value)}; ${rule.must}`)
  }
}

function unknown(name: string, rules: Rules): CounterfoilError {
  if (rules === rulesOfFile && Object.hasOwn(rulesHere, name)) {
    return wrong(`with \`file\` there is no option \`${name}\`: the file exports it`)
  }
  const names = Object.keys(rules).join(', ')
  return wrong(`there is no option \`${name}\`; the options are ${names}`)
}

function shown(value: unknown): string {
  if (typeof value === 'function') return 'a function'
  try {
    const json = typeof value === 'number' ? String(value) : JSON.stringify(value)
    return json.length > 60 ? `${json.slice(0, 60)}…` : json
  } catch {
    return String(value)
  }
}

export function wrong(what: string): CounterfoilError {
  return errorFor('CHAOS_OPTIONS', `chaos: ${what}`)
}
