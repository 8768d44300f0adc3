// A report of chaos for people.
import type { Output } from '../../output.ts'
import { renderTable } from '../../show/table.ts'
import { clean, clip, plural, wrap } from '../../show/text.ts'
import {
  type ChaosPoint,
  type ChaosReport,
  type ChaosTool,
  classWord,
  gathered,
  holdsWords,
} from './report.ts'

const asksShown = 12

type Look = Pick<Output, 'colors' | 'width'>

export function reportLines(look: Look, report: ChaosReport): string[] {
  const { colors, width } = look
  const { boundaries, points, kills, seed, ms } = report
  const tried = points.length === boundaries ? 'all of them tried' : `${points.length} tried`
  const what =
    `${plural(boundaries, 'boundary', 'boundaries')}, ${tried} (seed ${seed}), ` +
    `${plural(kills, 'kill')} on ${report.store}, ${Math.round(ms / 1_000)} s`
  return [
    colors.bold(clip(clean(report.subject), width)),
    ...wrap(what, width),
    ...report.notes.flatMap((note) => wrap(clean(note), width).map(colors.yellow)),
    '',
    ...toolLines(look, report.tools),
    '',
    ...askLines(look, points),
    ...movingLines(look, report.moving),
    ...findingLines(look, report),
  ]
}

function toolLines({ colors, width }: Look, tools: readonly ChaosTool[]): string[] {
  if (tools.length === 0) return ['No tool was called.']
  const columns = [
    { head: 'tool', yields: 1, least: 8 },
    ...['class', 'calls', 'again', 'effects/call', 'doubts', 'in vain', 'class holds'].map(
      (head) => ({ head }),
    ),
  ]
  const paints = { yes: colors.green, no: colors.red, assumed: colors.yellow }
  const rows = tools.map((tool) => {
    const { replayClass, calls, sentAgain, effectsMax, doubts, doubtsInVain, holds } = tool
    const paint = holds === 'not_tried' ? colors.dim : paints[holds]
    const counts = [calls, sentAgain, effectsMax, doubts, doubtsInVain].map(String)
    return [tool.tool, classWord(replayClass), ...counts, { text: holdsWords[holds], paint }]
  })
  return renderTable(columns, rows, { width, paintHead: colors.dim })
}

function askLines({ colors, width }: Look, points: readonly ChaosPoint[]): string[] {
  const asking = points.filter(({ doubts }) => doubts.length > 0)
  if (asking.length === 0) return ['No crash point asks a person.']
  const lines = asking.slice(0, asksShown).map(({ point, deaths, doubts }) => {
    const about = doubts.map(
      ({ tool, happened }) => `${tool ?? 'the run'}${happened ? '' : ' (in vain)'}`,
    )
    const text = `  ${String(point).padStart(4)}  ${deaths.join(', then ')}: ${about.join(', ')}`
    return clip(clean(text), width)
  })
  const more = asking.length - lines.length
  const verb = asking.length === 1 ? 'asks' : 'ask'
  return [
    `${plural(asking.length, 'crash point')} of ${points.length} ${verb} a person:`,
    ...lines,
    ...(more > 0 ? [colors.dim(`        and ${more} more; --json has them all`)] : []),
  ]
}

function movingLines({ colors, width }: Look, moving: readonly string[]): string[] {
  if (moving.length === 0) return []
  // Messages and rows have the same parts: each is named once.
  const paths = [...new Set(moving.map((path) => path.replaceAll(/\.\d+(?=\.|$)/g, '.*')))]
  const text = `Not compared, because it moves without any crash: ${paths.join(', ')}`
  return wrap(clean(text), width).map(colors.dim)
}

function findingLines({ colors, width }: Look, report: ChaosReport): string[] {
  const found = gathered(report)
  if (found.length === 0) {
    const good = 'Nothing happened twice, nothing was lost, every end is the same.'
    return ['', colors.green(good), ...untriedLines({ colors, width }, report.tools)]
  }
  const lines = found.flatMap(({ finding, points }) => {
    const shown = points.length > 8 ? `${points.slice(0, 8).join(', ')}, …` : points.join(', ')
    const where = `(${points.length === 1 ? 'point' : 'points'} ${shown})`
    const [first = '', ...rest] = wrap(clean(`${finding.message} ${where}`), width - 11)
    return [
      `${colors.red(finding.kind.padEnd(9))}  ${first}`,
      ...rest.map((line) => `${' '.repeat(11)}${line}`),
    ]
  })
  return ['', ...lines, '', colors.red(`${plural(found.length, 'finding')}.`)]
}

/** A key that was never sent again has shown nothing. */
function untriedLines({ colors, width }: Look, tools: readonly ChaosTool[]): string[] {
  const untried = tools.filter(
    ({ replayClass, holds }) => replayClass === 'idempotent_with_key' && holds === 'not_tried',
  )
  if (untried.length === 0) return []
  const names = untried.map(({ tool }) => tool).join(', ')
  const text = `Not tried, because no crash made its key be sent again: ${names}`
  return wrap(clean(text), width).map(colors.yellow)
}

/** The findings in plain words, for an error's message. */
export function plainFindings(report: ChaosReport): string[] {
  return gathered(report).map(
    ({ finding, points }) =>
      `${finding.kind}: ${finding.message} (${plural(points.length, 'crash point')}; first ` +
      `${report.points.find(({ point }) => point === points[0])?.deaths.join(', then ')})`,
  )
}
