// What a programme has come to: figures for each layer, as data and as a page for people.
import { percentile, upperBound } from './bound.ts'
import type { Control, Layer } from './layer.ts'
import type { Heading, LayerState, Progress } from './progress.ts'

export interface Row {
  layer: string
  about: string
  /** Why it was not run; null if it was. */
  missing: string | null
  planned: number
  cases: number
  /** Cases whose fault did not happen: they count for nothing. */
  notReached: number
  injected: number
  kinds: Record<string, number>
  runs: number
  effects: number
  duplicates: number
  lost: number
  surfaced: number
  falseSurfaced: number
  resumeP50Ms: number | null
  resumeP99Ms: number | null
  /** Cases in which anything was wrong. */
  failed: number
  boundPercent: number | null
  seconds: number
  controls: Control[]
  evidence: string[]
  wrong: string[]
  /** Why the layer does not pass; empty if it does, or if it was not run and need not be. */
  fails: string[]
}

export interface Report extends Heading {
  /** Every commit that the programme was run at, and the cases that were done at it. */
  commits: { commit: string; cases: number }[]
  rows: Row[]
  ok: boolean
}

const evidenceMax = 3
const wrongMax = 50

/** `named`: the layers that were asked for by name, and may not be left out. */
export function reportOf(
  layers: readonly Layer[],
  progress: Progress,
  named: readonly string[] = [],
): Report {
  const { heading } = progress
  if (heading === null) throw new Error('a programme without a heading')
  const rows = layers.map((layer) => {
    const state = progress.of(layer.name)
    const row = rowOf(layer, state)
    const unable = named.includes(layer.name) ? state.missing : null
    return { ...row, fails: failsOf(row, unable) }
  })
  // No fault at all is no pass.
  const ok = rows.some(hasRun) && rows.every(({ fails }) => fails.length === 0)
  return { ...heading, commits: commitsOf(layers, progress), rows, ok }
}

function commitsOf(layers: readonly Layer[], progress: Progress): Report['commits'] {
  const done = layers.flatMap(({ name }) => [...progress.of(name).done.values()])
  return [...new Set(progress.commits)].map((commit) => ({
    ...{ commit, cases: done.filter((each) => each.commit === commit).length },
  }))
}

const hasRun = ({ injected }: Row) => injected > 0

/** `unable`: why a layer that was named could not be run. */
function failsOf(row: Omit<Row, 'fails'>, unable: string | null): string[] {
  const asked = unable === null ? [] : [`it was asked for by name and could not be run: ${unable}`]
  if (row.missing !== null) return asked
  const { failed, injected, cases, notReached, controls } = row
  const reached = cases - notReached
  return [
    ...asked,
    ...(failed > 0 ? [`${failed} of ${cases} cases are wrong`] : []),
    ...(injected === 0 ? ['no fault was injected'] : []),
    ...(reached * 2 < cases ? [`fewer than half of the cases were reached: ${reached}`] : []),
    ...(controls.length === 0 ? ['no control was run'] : []),
    ...controls.filter((each) => !each.failed).map(({ name }) => `control "${name}" holds`),
  ]
}

/** What was done of a layer counts, though the rest of it could not be run. */
function missingOf({ missing, done, controls }: LayerState): string | null {
  return done.size === 0 && (controls ?? []).length === 0 ? missing : null
}

function rowOf({ name, about }: Layer, state: LayerState): Omit<Row, 'fails'> {
  const all = [...state.done].map(([each, outcome]) => ({ name: each, ...outcome }))
  const sum = (of: (outcome: (typeof all)[number]) => number) =>
    all.reduce((total, outcome) => total + of(outcome), 0)
  const kinds: Record<string, number> = {}
  for (const { kind, injected } of all) {
    if (injected > 0 || kind === 'not reached') kinds[kind] = (kinds[kind] ?? 0) + 1
  }
  const failed = all.filter(({ wrong }) => wrong.length > 0).length
  const injected = sum((each) => each.injected)
  const times = all.flatMap(({ resumeMs }) => resumeMs)
  const bound = upperBound(failed, injected)
  return {
    ...{ layer: name, about, missing: missingOf(state), planned: state.plan?.length ?? 0 },
    ...{ cases: all.length, notReached: all.filter((each) => each.injected === 0).length },
    ...{ injected, kinds, runs: sum((each) => each.runs), effects: sum((each) => each.effects) },
    duplicates: sum((each) => each.duplicates),
    lost: sum((each) => each.lost),
    surfaced: sum((each) => each.surfaced),
    falseSurfaced: sum((each) => each.falseSurfaced),
    resumeP50Ms: percentile(times, 0.5),
    resumeP99Ms: percentile(times, 0.99),
    failed,
    boundPercent: bound === null ? null : bound * 100,
    seconds: Math.round(sum((each) => each.ms) / 1_000),
    controls: [...(state.controls ?? []), ...all.flatMap((each) => each.controls ?? [])],
    evidence: all
      .filter(({ evidence }) => evidence !== '')
      .slice(0, evidenceMax)
      .map((each) => `${each.name}: ${each.evidence}`),
    wrong: all
      .flatMap((each) => each.wrong.map((text) => `${each.name}: ${text}`))
      .slice(0, wrongMax),
  }
}

const percent = (value: number | null) =>
  value === null ? '' : `${value < 0.1 ? value.toPrecision(2) : value.toFixed(1)} %`
const ms = (value: number | null) => (value === null ? '' : `${value} ms`)

function headlineOf({ rows, ok }: Report): string {
  const missing = rows.filter((row) => row.missing !== null)
  const names = missing.map((row) => `${row.layer} (${row.missing})`).join(', ')
  const rest = names === '' ? '' : `; not run: ${names}`
  if (!rows.some(hasRun)) return `NOTHING WAS RUN: no fault was injected in any layer${rest}.`
  const share = `${rows.length - missing.length} of ${rows.length} layers`
  if (ok) return `Nothing is wrong in ${share}${rest}.`
  const bad = rows.filter(({ fails }) => fails.length > 0).map(({ layer }) => layer)
  return `SOMETHING IS WRONG, see below: ${bad.join(', ')}. Run: ${share}${rest}.`
}

function commitsText({ commits, commit }: Report): string {
  if (commits.length < 2) return `commit ${commit}`
  const each = commits.map(({ commit: at, cases }) => `${at} (${cases} cases)`)
  return `commits ${each.join(', ')}`
}

/** A table, then the evidence and the controls of each layer. */
export function markdownOf(report: Report): string {
  const { rows, size, seed, node, startedAt } = report
  const head = [
    ...['layer', 'cases', 'faults', 'runs', 'effects', 'twice', 'lost', 'surfaced'],
    ...['of them not happened', 'resume p50', 'p99', 'failure rate below (95 %)'],
  ]
  const lines = rows.map((row) => {
    if (row.missing !== null) return [row.layer, `not run: ${row.missing}`]
    return [
      ...[row.layer, of(row), row.injected, row.runs, row.effects, row.duplicates, row.lost],
      ...[row.surfaced, row.falseSurfaced, ms(row.resumeP50Ms), ms(row.resumeP99Ms)],
      percent(row.boundPercent),
    ]
  })
  const width = head.length
  const line = (cells: readonly unknown[]) =>
    `| ${[...cells, ...Array(width - cells.length).fill('')].join(' | ')} |`
  return [
    '# The fault programme',
    '',
    headlineOf(report),
    '',
    `Size ${size}, seed ${seed}, ${commitsText(report)}, Node ${node}, begun ${startedAt}.`,
    '',
    line(head),
    line(head.map(() => '---')),
    ...lines.map(line),
    '',
    ...rows.flatMap(detailsOf),
  ].join('\n')
}

function of({ cases, planned, notReached }: Row): string {
  const share = cases < planned ? `${cases} of ${planned}` : String(cases)
  return notReached > 0 ? `${share} (${notReached} not reached)` : share
}

function detailsOf(row: Row): string[] {
  const fails = row.fails.map((each) => `- FAILS: ${each}`)
  if (row.missing !== null) return fails.length === 0 ? [] : [`## ${row.layer}`, '', ...fails, '']
  const kinds = Object.entries(row.kinds).map(([kind, count]) => `${count} × ${kind}`)
  return [
    `## ${row.layer}`,
    '',
    `${row.about[0]?.toUpperCase()}${row.about.slice(1)}. ${row.seconds} s of work.`,
    ...(kinds.length > 0 ? [`Cases by kind: ${kinds.join(', ')}.`] : []),
    '',
    ...fails,
    ...row.controls.map(
      ({ name, failed, evidence }) =>
        `- control "${name}" ${failed ? 'fails, as it must' : 'HOLDS, and must not'}: ${evidence}`,
    ),
    ...row.evidence.map((each) => `- evidence: ${each}`),
    ...row.wrong.map((each) => `- WRONG: ${each}`),
    '',
  ]
}
