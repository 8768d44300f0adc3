// Scopes of a foreign runtime in real processes: killed at failpoints and at random moments, beside
// each other, and taken over.
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { tool } from '../../src/index.ts'
import { seeded } from '../sim/clock.ts'
import { everyPoint, seed, killsWanted as wanted } from '../size.ts'
import { faults, runOf, Site, script } from './driver.ts'
import { effectsOfThread } from './programs/truth.mjs'

const killsWanted = wanted(4, 1 / 30)

const ids = { workflowId: 't1', nodeId: 'tools', checkpointId: 'first' }

test('J1, C5 a host dies at its scopes’ failpoints: nothing twice, lost, or unsaid', async () => {
  const reference = await Site.open()
  const { out, code } = await reference.worker('host.mjs', 0, 't1').exit
  expect(code).toBe(0)
  const { hits } = JSON.parse(out.split('\n').at(-1) ?? '')
  expect(faults(reference.effects(), effectsOfThread('t1'))).toEqual([])
  await reference.close()
  expect(hits).toBeGreaterThan(60)

  const bad: string[] = []
  const found = { points: 0, kills: 0, doubts: 0, falseDoubts: 0 }
  const step = everyPoint ? 1 : Math.ceil(hits / 5)
  for (let n = 1 + (seed % step); n <= hits - step / 3; n += step) {
    const site = await Site.open()
    const { signal } = await site.worker('host.mjs', n, 't1').exit
    if (signal === 'SIGKILL') found.kills++
    await site.finishHost(['t1'])
    const wrong = [...faults(site.effects(), effectsOfThread('t1')), ...(await site.findings())]
    bad.push(...wrong.map((each) => `failpoint ${n}: ${each}`))
    found.points++
    found.doubts += site.doubts
    found.falseDoubts += site.falseDoubts
    await site.close()
  }
  console.log(`failpoints of scopes: ${JSON.stringify({ hits, ...found, bad })}`)
  expect(bad).toEqual([])
  expect(found.kills).toBeGreaterThan(found.points * 0.7)
}, 1_200_000)

test('C5, D2 a host with many threads under random SIGKILLs', async () => {
  const random = seeded(seed)
  const site = await Site.open(8)
  const threads: string[] = []
  for (let kills = 0; kills < killsWanted; ) {
    for (let i = 0; i < 3; i++) threads.push(`t${threads.length}`)
    const { child, exit } = site.worker('host.mjs', 0, threads.slice(-9).join(','))
    await site.progress(1 + Math.floor(random() * 12), exit)
    setTimeout(() => child.kill('SIGKILL'), random() * 10)
    const { signal, code, error } = await exit
    if (signal === 'SIGKILL') kills++
    else if (code !== 0) throw new Error(`host: ${code ?? signal}, ${error}`)
    await site.decideAll()
  }
  await site.finishHost(threads)
  const effects = site.effects()
  const bad = threads.flatMap((thread) =>
    faults(
      effects.filter((effect) => runOf(effect) === thread),
      effectsOfThread(thread),
    ),
  )
  const { doubts, falseDoubts } = site
  const figures = { seed, kills: killsWanted, threads: threads.length, effects: effects.length }
  console.log(`kills of hosts: ${JSON.stringify({ ...figures, doubts, falseDoubts })}`)
  expect([...bad, ...(await site.findings())]).toEqual([])
  expect(doubts).toBeGreaterThan(0)
  await site.close()
}, 1_200_000)

async function says(child: { stdout: NodeJS.ReadableStream | null }, text: string): Promise<void> {
  let out = ''
  while (!out.includes(text)) {
    const [chunk] = await once(child.stdout as NodeJS.ReadableStream, 'data')
    out += chunk
  }
}

function opener(site: Site, ending: string) {
  return site.spawn(script('opener.mjs'), [site.store, site.port, ending])
}

/** As opener.mjs has it, and never to be called. */
function mailTool(sent: unknown[]) {
  return tool({
    name: 'mail',
    replayClass: 'unsafe_on_replay',
    input: { '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value }) } },
    run: async (input) => {
      sent.push(input)
      return { id: 'here' }
    },
  })
}

test('I9, C2 a killed holder is taken over at once, its call in flight is a doubt', async () => {
  const site = await Site.open(60_000)
  const { child, exit } = opener(site, 'wait')
  await says(child, 'open')
  while (site.effects().length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
  const sent: unknown[] = []
  await site.with(async (cf) => {
    // As long as it lives it is not to be moved.
    await expect(cf.scope(ids)).rejects.toMatchObject({ code: 'SCOPE_HELD', retryable: true })
    await expect(cf.scope({ ...ids, checkpointId: 'other' })).rejects.toMatchObject({
      code: 'SCOPE_HELD',
    })
    child.kill('SIGKILL')
    expect((await exit).signal).toBe('SIGKILL')
    // Its lease has most of 15 s left: the proof of its death is what counts.
    const scope = await cf.scope(ids)
    const call = scope.call(mailTool(sent), { to: 't1', subject: 'hello' })
    await expect(call).rejects.toMatchObject({ code: 'REPLAY_UNSAFE', retryable: false })
    await scope.close()
    expect(await cf.run('t1').status()).toMatchObject({ state: 'waiting_human' })
    const events = await cf.store.listEvents({ namespace: 'default', runId: 't1' }, {})
    const taken = events.items.find((event) => event.kind === 'taken_over')
    expect(taken?.data).toMatchObject({ cause: 'dead' })
  })
  await site.decideAll()
  await site.with(async (cf) => {
    const scope = await cf.scope(ids)
    const result = await scope.call(mailTool(sent), { to: 't1', subject: 'hello' })
    expect(result).toEqual({ id: 'mail-1' })
    await scope.close()
  })
  expect(sent).toEqual([])
  expect(site.effects()).toHaveLength(1)
  await site.close()
}, 300_000)

test('I9 a process that ends with its scope open leaves it to the next one at once', async () => {
  const site = await Site.open()
  const { code, error } = await opener(site, 'exit').exit
  expect([code, error]).toEqual([0, ''])
  await site.with(async (cf) => {
    expect(await cf.run('t1').status()).toMatchObject({ state: 'running' })
    await (await cf.scope(ids)).close()
    expect(await cf.run('t1').status()).toMatchObject({ state: 'waiting_tool' })
  })
  await site.close()
}, 300_000)

test('D2 a host that has closed its scopes comes to its end by itself', async () => {
  const site = await Site.open()
  const { child, exit } = opener(site, 'forget')
  const timer = setTimeout(() => child.kill('SIGKILL'), 200_000)
  const { code, signal, out } = await exit
  clearTimeout(timer)
  expect([code, signal]).toEqual([0, null])
  expect(out).toContain('closed')
  await site.close()
}, 300_000)

test('D4 a workflow whose ids are a host’s own is stopped like any other', async () => {
  const site = await Site.open()
  await site.finishHost(['t1'])
  // In a process that can be killed: what asks the database for ever cannot be stopped from within.
  const { child, exit } = site.spawn(script('stops.mjs'), [site.store, 't1'])
  const timer = setTimeout(() => child.kill('SIGKILL'), 200_000)
  const { signal, out } = await exit
  clearTimeout(timer)
  expect([signal, out]).toEqual([null, 'cancelled'])
  await site.close()
}, 300_000)

test('D4, I7 a pause that a killed host had not come to holds for the next one', async () => {
  const site = await Site.open(60_000)
  const { child, exit } = opener(site, 'wait')
  await says(child, 'open')
  while (site.effects().length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
  await site.with((cf) => cf.run('t1').pause())
  child.kill('SIGKILL')
  await exit
  await site.with(async (cf) => {
    expect(await cf.run('t1').status()).toMatchObject({ state: 'running' })
    await expect(cf.scope(ids)).rejects.toMatchObject({ code: 'RUN_PAUSED' })
    expect(await cf.run('t1').status()).toMatchObject({ state: 'paused' })
    await cf.run('t1').resume()
    const scope = await cf.scope(ids)
    const call = scope.call(mailTool([]), { to: 't1', subject: 'hello' })
    await expect(call).rejects.toMatchObject({ code: 'REPLAY_UNSAFE' })
    await scope.close()
  })
  await site.close()
}, 300_000)
