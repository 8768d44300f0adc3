// A report of chaos for programs: one JSON document, or JUnit's XML, which CI systems show.
import type { ChaosPoint, ChaosReport, ChaosTool } from './report.ts'
import { classWord } from './report.ts'

export function reportJson(report: ChaosReport) {
  const { subject, store, seed, boundaries, points, kills, tools, moving, notes, ms, ok } = report
  return {
    ok,
    subject,
    store,
    seed,
    boundaries,
    kills,
    duration_ms: Math.round(ms),
    tools: tools.map(toolJson),
    points: points.map(pointJson),
    not_compared: moving,
    notes,
  }
}

function toolJson(tool: ChaosTool) {
  const { replayClass, sentAgain, effectsMax, doubtsInVain, ...rest } = tool
  return {
    tool: rest.tool,
    replay_class: replayClass,
    upstream: rest.upstream,
    calls: rest.calls,
    effects: rest.effects,
    sent_again: sentAgain,
    effects_max: effectsMax,
    duplicates: rest.duplicates,
    lost: rest.lost,
    doubts: rest.doubts,
    doubts_in_vain: doubtsInVain,
    class_holds: rest.holds,
  }
}

function pointJson({ point, deaths, doubts, findings, ms }: ChaosPoint) {
  return { point, deaths, duration_ms: Math.round(ms), doubts, findings }
}

/** A test for each tool's class, and one for each crash point. */
export function junitXml(report: ChaosReport): string {
  const { subject, points, tools, ms } = report
  const cases = [
    ...tools.map((tool) => toolCase(subject, tool)),
    ...points.map((point) => pointCase(subject, point)),
  ]
  return suite(subject, cases, ms)
}

/** Chaos could not be run: one test, which says why. */
export function junitError(subject: string, message: string): string {
  const text = `<error message="${xml(message)}">${xml(message)}</error>`
  const head = `<testcase classname="${xml(subject)}" name="chaos can be run" time="0.000"`
  return suite(subject, [`${head}>${text}</testcase>`], 0)
}

function suite(subject: string, cases: readonly string[], ms: number): string {
  const count = (element: string) => cases.filter((text) => text.includes(`<${element}`)).length
  const bad = `failures="${count('failure')}" errors="${count('error')}"`
  const counts = `tests="${cases.length}" ${bad} time="${seconds(ms)}"`
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="counterfoil chaos" ${counts}>`,
    `  <testsuite name="${xml(`chaos of ${subject}`)}" ${counts}>`,
    ...cases.map((text) => `    ${text}`),
    '  </testsuite>',
    '</testsuites>',
    '',
  ].join('\n')
}

function toolCase(subject: string, { tool, replayClass, holds, effectsMax }: ChaosTool): string {
  const name = replayClass === null ? `${tool}, unguarded` : `${tool} is ${classWord(replayClass)}`
  const why = replayClass === null ? 'it is not guarded' : `it is not ${replayClass}`
  const says = `${badOf(tool, replayClass, effectsMax)}: ${why}`
  return testCase({ subject, name, ms: 0, faults: holds === 'no' ? [says] : [] })
}

function badOf(tool: string, replayClass: ChaosTool['replayClass'], effectsMax: number): string {
  if (effectsMax > 1) return `one call of ${tool} had ${effectsMax} effects`
  if (replayClass === null) return `${tool} happened otherwise after a crash`
  return `one key of ${tool} has had two inputs`
}

function pointCase(subject: string, { point, deaths, findings, ms }: ChaosPoint): string {
  const where = deaths.join(', then ') || 'nobody was killed'
  const faults = findings.map(({ kind, message }) => `${kind}: ${message}`)
  return testCase({ subject, name: `crash point ${point}: ${where}`, ms, faults })
}

interface Case {
  readonly subject: string
  readonly name: string
  readonly ms: number
  readonly faults: readonly string[]
}

function testCase({ subject, name, ms, faults }: Case): string {
  const head = `<testcase classname="${xml(subject)}" name="${xml(name)}" time="${seconds(ms)}"`
  if (faults.length === 0) return `${head}/>`
  const text = xml(faults.join('\n'))
  return `${head}><failure message="${xml(faults[0] ?? '')}">${text}</failure></testcase>`
}

function seconds(ms: number): string {
  return (ms / 1_000).toFixed(3)
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
}

/** XML has no place for most control characters, not even as entities. */
function xml(text: string): string {
  return text
    .replaceAll(/[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu, '\ufffd')
    .replaceAll(/[&<>"']/g, (char) => entities[char] ?? char)
}
