// `npm run bench:arms`: thirty tasks, killed again and again, in three arms: the state in the
// prompt, a checkpoint after the act, and Counterfoil.
//   --tasks 30 --kills 3 --seed 1 --thinking-ms 200 --out file
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { median, now, round } from '../peers/numbers.mjs'
import { markdown } from '../peers/report.mjs'
import { turns } from './agent.mjs'
import { decideAs } from './person.mjs'

/** @typedef {import('./upstream.mjs').Kill} Kill */
/** @typedef {'prompt' | 'checkpoint' | 'counterfoil'} Arm */

const { values } = parseArgs({
  options: {
    tasks: { type: 'string', default: '30' },
    kills: { type: 'string', default: '3' },
    seed: { type: 'string', default: '1' },
    // A real model thinks for seconds; with 200 ms thirty tasks end in minutes.
    'thinking-ms': { type: 'string', default: '200' },
    out: { type: 'string' },
  },
})
const arms = /** @type {const} */ (['prompt', 'checkpoint', 'counterfoil'])
const startsMax = 50
// About as long as the step that follows.
const laterMsMax = Number(values['thinking-ms'])
const programAt = (/** @type {string} */ name) =>
  fileURLToPath(new URL(`./${name}.mjs`, import.meta.url))

/** Where a task can be killed: each of its requests, three ways. */
function points() {
  const phases = /** @type {const} */ (['arrival', 'effect', 'later'])
  const requests = turns.flatMap((about, i) => [
    ...[1, 3, 5].map((length) => `/model ${i * 6 + length}`),
    ...[`/lookup ${about}`, `/send ${about}`],
  ])
  return requests.flatMap((what) => phases.map((phase) => ({ what, phase })))
}

/** @param {number} seed */
function chance(seed) {
  let x = seed >>> 0
  return () => {
    x = (Math.imul(x, 1_664_525) + 1_013_904_223) >>> 0
    return x / 2 ** 32
  }
}

/**
 * @param {() => number} random
 * @returns {Kill[]}
 */
function killsOf(random) {
  const all = points()
  const shuffled = all.map((point) => ({ point, at: random() })).sort((a, b) => a.at - b.at)
  const chosen = new Map(shuffled.map(({ point }) => [point.what, point]))
  return [...chosen.values()]
    .slice(0, Number(values.kills))
    .map((point) => ({ ...point, laterMs: round(random() * laterMsMax, 2) }))
}

async function startUpstream(/** @type {string} */ log) {
  const child = fork(programAt('upstream'), [log, values['thinking-ms']])
  const [{ port }] = await once(child, 'message')
  const url = `http://127.0.0.1:${port}`
  /** @type {(path: string, body: object) => Promise<any>} */
  const post = async (path, body) => {
    const response = await fetch(`${url}${path}`, { method: 'POST', body: JSON.stringify(body) })
    return response.json()
  }
  return { child, url, post }
}

/** @typedef {Awaited<ReturnType<typeof startUpstream>>} Upstream */

/**
 * One process of an agent, from its start to its end.
 * @param {Arm} arm
 * @param {string[]} args
 * @param {Upstream} upstream
 */
async function live(arm, args, upstream) {
  const startedAt = now()
  const agent = fork(programAt(arm), args)
  const kill = async () => {
    if (agent.exitCode === null && agent.signalCode === null) {
      agent.kill('SIGKILL')
      await once(agent, 'exit')
    }
    upstream.child.send({ event: 'dead' })
  }
  upstream.child.on('message', kill)
  const [code, signal] = await once(agent, 'exit')
  // A kill that was on its way is told as well, before the next process begins.
  await new Promise((resolve) => setTimeout(resolve, 10))
  upstream.child.off('message', kill)
  return { startedAt, code, signal }
}

/**
 * @param {Arm} arm
 * @param {string} task
 * @param {Kill[]} kills
 * @param {{ dir: string, log: string, upstream: Upstream }} place
 */
async function runTask(arm, task, kills, { dir, log, upstream }) {
  const folder = join(dir, `${arm}-${task}`)
  mkdirSync(folder)
  const name = `${arm}-${task}`
  await upstream.post('/task', { task: name, kills })
  const figures = { ended: false, killed: 0, asked: 0, resumeMs: /** @type {number[]} */ ([]) }
  let person = false
  for (let starts = 0; starts < startsMax && !figures.ended; starts++) {
    const { startedAt, code, signal } = await live(arm, [upstream.url, folder, name], upstream)
    const { newAt } = await upstream.post('/seen', {})
    if (starts > 0 && newAt > 0 && !person) figures.resumeMs.push(newAt - startedAt)
    person = code === 3
    if (signal === 'SIGKILL') figures.killed++
    else if (person) figures.asked += await decideAs('ana', folder, name, () => sentIn(log, name))
    else if (code === 0) figures.ended = true
    else throw new Error(`${name} ended with ${code ?? signal}`)
  }
  const { tokens, lost, requests } = await upstream.post('/seen', {})
  const sent = sentIn(log, name)
  const times = turns.map((about) => sent.filter((to) => to === about).length)
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  return { ...figures, tokens, lost, requests, times }
}

/**
 * To whom this task has sent e-mails, by the provider's own list.
 * @param {string} log
 * @param {string} task
 * @returns {string[]}
 */
function sentIn(log, task) {
  const lines = readFileSync(log, 'utf8').split('\n').filter(Boolean)
  return lines.flatMap((line) => {
    const entry = JSON.parse(line)
    return entry.task === task ? [entry.to] : []
  })
}

/** @typedef {Awaited<ReturnType<typeof runTask>>} Figures */

/**
 * @param {Figures[]} taken
 * @param {Figures} alone The same without a kill.
 */
function summary(taken, alone) {
  const sum = (/** @type {(each: Figures) => number} */ of) => taken.reduce((n, x) => n + of(x), 0)
  const tokens = sum((each) => each.tokens - alone.tokens)
  const more = (/** @type {number} */ n) => Math.max(0, n - 1)
  return {
    tasks: taken.length,
    killed: sum((each) => each.killed),
    ended: taken.filter((each) => each.ended).length,
    right: taken.filter((each) => each.ended && each.times.every((n) => n === 1)).length,
    duplicates: sum((each) => each.times.reduce((n, times) => n + more(times), 0)),
    missing: sum((each) => each.times.filter((n) => n === 0).length),
    asked: sum((each) => each.asked),
    requestsAgain: sum((each) => each.requests - alone.requests),
    requestsAlone: alone.requests,
    resumeMs: round(median(taken.flatMap((each) => each.resumeMs)), 0),
    tokensAgain: tokens,
    tokensAgainPercent: round((100 * tokens) / (alone.tokens * taken.length), 1),
    tokensLost: sum((each) => each.lost),
    tokensLostPercent: round((100 * sum((each) => each.lost)) / (alone.tokens * taken.length), 1),
  }
}

const titles = {
  prompt: 'state in the prompt',
  checkpoint: 'checkpoint after the act',
  counterfoil: 'Counterfoil',
}

/** @param {Record<Arm, ReturnType<typeof summary>>} results */
function table(results) {
  const rows = arms.map((arm) => {
    const { tasks, right, duplicates, missing, asked, ...rest } = results[arm]
    return [
      ...[titles[arm], `${rest.ended} of ${tasks}`, `${right} of ${tasks}`],
      ...[String(duplicates), String(missing), String(asked), String(rest.requestsAgain)],
      ...[`${rest.resumeMs} ms`, `${rest.tokensAgain} (${rest.tokensAgainPercent} %)`],
      `${rest.tokensLost} (${rest.tokensLostPercent} %)`,
    ]
  })
  const head = ['arm', 'ended', 'each e-mail once', 'sent twice', 'never sent', 'asked a person']
  const costs = ['tokens spent again', 'of them told before']
  return markdown([...head, 'requests made again', 'resume, p50', ...costs], rows)
}

async function main() {
  const dir = mkdtempSync(join(tmpdir(), 'counterfoil-arms-'))
  const log = join(dir, 'provider.log')
  writeFileSync(log, '')
  const upstream = await startUpstream(log)
  /** @type {any} */
  const results = {}
  try {
    for (const arm of arms) {
      const random = chance(Number(values.seed))
      const place = { dir, log, upstream }
      const alone = await runTask(arm, 'alone', [], place)
      const taken = []
      for (let i = 0; i < Number(values.tasks); i++) {
        taken.push(await runTask(arm, `t${i}`, killsOf(random), place))
      }
      results[arm] = summary(taken, alone)
    }
  } finally {
    upstream.child.disconnect()
    rmSync(dir, { recursive: true, force: true, maxRetries: 5 })
  }
  const { tasks, kills, seed, 'thinking-ms': thinkingMs } = values
  const how = `${kills} kills each, a model that takes ${thinkingMs} ms, seed ${seed}`
  console.log(`${tasks} tasks, ${how}, Node ${process.version}\n`)
  console.log(table(results))
  if (values.out) writeFileSync(values.out, `${JSON.stringify({ ...values, results }, null, 1)}\n`)
}

await main()
