// Results as Markdown, which is what is printed too.
//   node bench/peers/report.mjs results.json                      prints them
//   node bench/peers/report.mjs results.json docs/benchmarks.md   puts them into the page
import { readFileSync, writeFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { goalsOf, payloadOf } from './goals.mjs'
import { round } from './numbers.mjs'

/**
 * @param {string[]} head
 * @param {string[][]} rows
 */
export function markdown(head, rows) {
  const widths = head.map((cell, i) => Math.max(cell.length, ...rows.map((r) => r[i]?.length ?? 0)))
  const line = (/** @type {string[]} */ cells) =>
    `| ${cells.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(' | ')} |`
  const rule = `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`
  return [line(head), rule, ...rows.map(line)].join('\n')
}

const count = (/** @type {number} */ n) => Math.round(n).toLocaleString('en-GB')
const megabytes = (/** @type {number} */ bytes) =>
  `${count(bytes / 100_000) === '0' ? '0' : round(bytes / 1e6, 1)} MB`

/** @param {any} test */
const failed = (test) => (test?.error ? 'error' : (test?.skipped ?? '–'))

/**
 * Tests that ended in an error, with what it said; of C each length has an end of its own.
 * @param {any} results
 * @returns {string[]}
 */
export function errorsOf(results) {
  return Object.entries(results.systems).flatMap(([name, system]) =>
    ['A', 'B', 'C', 'D', 'E'].flatMap((test) => {
      const taken = system[test] ?? {}
      const parts = test === 'C' ? [taken, ...Object.values(taken)] : [taken]
      return parts.flatMap(({ error }) => (error ? [`${name} ${test}: ${error}`] : []))
    }),
  )
}

/** @param {any} figures */
function timesOf({ A, B, D, floor }) {
  return [
    ...(A?.msPerStep
      ? [
          `${round((A.cold ?? A).msPerStep)} ms`,
          `${round(A.msPerStep)} ms`,
          `${round(A.msPerStep / A.floor[floor], 1)} ×`,
        ]
      : [failed(A), '', '']),
    ...(B?.stepsPerSecond
      ? [`${count((B.cold ?? B).stepsPerSecond)}/s`, `${count(B.stepsPerSecond)}/s`]
      : [failed(B), '']),
    D?.resumeMs
      ? `${count(D.resumeMs)} ms${D.stepsRunAgain > 0 ? `, ${D.stepsRunAgain} steps again` : ''}`
      : failed(D),
  ]
}

/**
 * @param {any} figures
 * @param {number} steps
 */
function growthOf({ C }, steps) {
  const last = C?.[steps]
  if (last?.skipped) return [last.skipped, '']
  if (!last?.bytes) return [failed(last), '']
  return [
    `${megabytes(last.bytes)}, ${round(last.bytes / payloadOf(steps), 1)} ×`,
    `${round(last.lastTenthMs / last.firstTenthMs, 1)} ×`,
  ]
}

/** @param {any} figures */
function effectsOf({ E }) {
  if (!E?.effects) return [failed(E), '']
  const items = E.told.flat().length
  return [E.effects.join(' '), items > 0 ? 'an item in the inbox' : 'nobody']
}

/** @param {any} results */
function systemsOf(results) {
  const steps = Math.max(...results.sizes.growth)
  const { sizes } = results
  const head = [
    'system',
    `A: one of ${count(sizes.steps)} steps, new process`,
    `A: after ${count(sizes.steps * (sizes.rounds - 1))} more`,
    'to the raw commit',
    `B: ${sizes.runs} × ${sizes.each}, new process`,
    `B: after ${count(sizes.runs * sizes.each * (sizes.rounds - 1))} more`,
    `D: resume after ${count(sizes.steps)}`,
    `C: on disk after ${count(steps)}, to payload`,
    'C: last tenth to first',
    'E: e-mails sent',
    'E: who is told',
  ]
  const rows = Object.entries(results.systems).map(([name, figures]) => [
    figures.durable ? name : `${name} ¹`,
    ...timesOf(figures),
    ...growthOf(figures, steps),
    ...effectsOf(figures),
  ])
  return markdown(head, rows)
}

/** @param {any} results */
function settingsOf(results) {
  const rows = Object.entries(results.systems).map(([name, { about, versions }]) => [
    name,
    about,
    Object.entries(versions)
      .map(([each, version]) => `${each} ${version}`)
      .join(', '),
  ])
  const skipped = Object.entries(results.skipped).map(([name, why]) => [
    name,
    `skipped: ${why}`,
    '',
  ])
  return markdown(['system', 'what and how', 'versions'], [...rows, ...skipped])
}

/** @param {any} results */
function floorsOf({ floors, postgres, machine, load, ranAt, sizes }) {
  const us = (/** @type {string} */ name) =>
    `${[floors.before, floors.after]
      .filter(Boolean)
      .map((each) => count(each[name] * 1_000))
      .join(' / ')} µs`
  const loads = [load.before, load.after].filter(Boolean).map((each) => round(each[0], 1))
  // Of the minute before it tells what had just ended; of the last minute, what ran beside it.
  const busy = (load.after ?? load.before)[0] > 3
  return [
    `${ranAt.slice(0, 10)}, Node ${machine.node}, ${machine.cpu}, ${machine.cores} cores, ${machine.memoryGiB} GiB, kernel ${machine.kernel}.`,
    `Postgres ${Object.entries(postgres)
      .map(([name, value]) => (name === 'server_version' ? value : `${name} ${value}`))
      .join(', ')}.`,
    `A and B: the median of ${sizes.blocks} processes, ${sizes.rounds} rounds each, of which the first and the last are counted. Load ${loads.join(' in the minute before, ')} in the last one${busy ? ': the machine was busy, so times say little and ratios not much more' : ''}.`,
    `Raw commits, before / after: 4 KiB and fdatasync ${us('fdatasync')}; SQLite ${us('sqlite')}; Postgres ${us('postgres')}, over 50 connections ${us('postgres50')}.`,
  ].join('\n')
}

/** @param {any} results */
function onceOf({ systems }) {
  const rows = Object.entries(systems)
    .filter(([, { E }]) => E?.once)
    .map(([name, { E }]) => [
      name,
      `\`${E.once.setting}\``,
      String(E.once.effects ?? 'error'),
      String([E.once.end].flat()[0] ?? ''),
    ])
  if (rows.length === 0) return ''
  return `\nE with a second attempt forbidden, where there is a setting for it:\n\n${markdown(
    ['system', 'setting', 'e-mails sent', 'the run is then'],
    rows,
  )}\n`
}

/** @param {any} results */
export function reportOf(results) {
  const goals = goalsOf(results).map(({ test, goal, got, met }) => [
    test,
    goal,
    got,
    met === null ? '' : met ? 'met' : 'missed',
  ])
  const item = results.systems['counterfoil-sqlite']?.E?.told?.[0]?.[0]
  return [
    floorsOf(results),
    '',
    systemsOf(results),
    '',
    '¹ A step may not be on disk yet when the next one begins.',
    onceOf(results),
    markdown(['test', 'goal', 'this run', ''], goals),
    ...(item ? ['', 'The item of E:', '', '```json', JSON.stringify(item, null, 2), '```'] : []),
    '',
    settingsOf(results),
    '',
  ].join('\n')
}

/**
 * The page with what lies between its two marks made new.
 * @param {string} page
 * @param {string} report
 */
export function inPage(page, report) {
  const [from, to] = ['<!-- peers: made by bench/peers/report.mjs -->', '<!-- /peers -->']
  const [before, rest = ''] = page.split(from)
  const after = rest.split(to)[1]
  if (after === undefined) throw new Error(`the page has no ${from} … ${to}`)
  return [before, from, '\n\n', report.trim(), '\n\n', to, after].join('')
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [, , file = '', page] = process.argv
  const report = reportOf(JSON.parse(readFileSync(file, 'utf8')))
  if (page) writeFileSync(page, inPage(readFileSync(page, 'utf8'), report))
  else console.log(report)
}
