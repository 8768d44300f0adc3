// Bad inputs: requests made from the API's own description, and ledgers damaged in rows, bytes and
// blobs. Every answer is right, or an error with a code.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Site, script } from '../../crash/driver.ts'
import { type Control, chanceOf, type Layer, nothing, type Outcome } from '../layer.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const ledgers = fileURLToPath(new URL('../../replay/ledgers/', import.meta.url))

/** Inputs in one case. */
const [requestsEach, damagesEach] = [9_800, 50]

/** The newest golden ledger that is a file; the first has no blobs. */
function ledger(): string {
  const names = readdirSync(ledgers).filter((name) =>
    existsSync(`${ledgers}${name}/runs.sqlite.blobs`),
  )
  const newest = names.sort().at(-1)
  if (newest === undefined) throw new Error('no golden ledger: node scripts/golden.mjs')
  return `${ledgers}${newest}`
}

/** Of a seed, with which fast-check makes the same requests again. */
async function requests(count: number, seed: number): Promise<Outcome> {
  const vitest = ['node_modules/vitest/vitest.mjs', 'run', 'test/security/fuzz.test.ts']
  const config = ['--config', 'test/proof/requests.config.ts']
  const args = [
    ...vitest,
    ...config,
    '--reporter=verbose',
    '--disable-console-intercept',
    '-t',
    'OpenAPI',
  ]
  const env = {
    ...process.env,
    FUZZ: String(count),
    COUNTERFOIL_FUZZ_SEED: String(seed),
    NO_COLOR: '1',
  }
  const child = spawn(process.execPath, args, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] })
  let out = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      out += chunk
    })
  }
  const [code] = await once(child, 'close')
  const [made = '', sent = '0'] = /(\d+) requests in \d+ s/.exec(out) ?? []
  const [of = 'no seed'] = /fast-check seed \d+/.exec(out) ?? []
  const wrong = code === 0 ? [] : [out.slice(-3_000)]
  return { ...nothing, kind: 'request', injected: Number(sent), evidence: `${made}, ${of}`, wrong }
}

interface Damaged {
  seed: number
  kind: 'row' | 'bytes' | 'blob'
  where: string
  met: 'refused' | 'told' | 'not noticed'
  faults: string[]
}

async function damages(first: number, count: number, control = false): Promise<Outcome> {
  const site = await Site.open()
  const flags = control
    ? ['--import', new URL('../../crash/programs/harm/unsealed.mjs', import.meta.url).href]
    : []
  const more = control ? ['receipts'] : []
  const args = [ledger(), String(first), String(count), site.port, ...more]
  const { code, signal, out, error } = await site.spawn(script('harm/corrupt.mjs'), args, flags).exit
  const lines = out.split('\n').filter(Boolean)
  const all: Damaged[] = lines.map((line) => JSON.parse(line))
  const wrong = all
    .filter((each) => !isLimit(each))
    .flatMap(({ seed, kind, where, faults }) =>
      faults.map((each) => `seed ${seed}, ${kind} ${where}: ${each}`),
    )
  if (code !== 0) wrong.push(`it ended with ${code ?? signal}: ${error.slice(0, 2_000)}`)
  const tally = (met: string) => all.filter((each) => each.met === met).length
  const limits = all.filter((each) => isLimit(each) && each.faults.length > 0).length
  const evidence =
    `${all.length} damaged: ${tally('refused')} refused at open, ${tally('told')} told of when ` +
    `read; ${limits} met a stated limit`
  const duplicates = wrong.filter((each) => each.includes('SECOND SEND')).length
  const sent = site.effects().length
  await site.close()
  return {
    ...{ ...nothing, kind: 'damage', injected: all.length, evidence, duplicates, wrong },
    ...{ runs: all.length, effects: sent },
  }
}

/** Outputs of ended runs are not signed (docs/proof.md): a damaged one is a wrong answer. */
function isLimit({ where, faults }: Damaged): boolean {
  const output = where === 'runs.output_json' || where === 'runs.output_digest'
  return output && faults.every((each) => each.startsWith('WRONG ANSWER'))
}

function plan(requestCases: number, damageCases: number): string[] {
  return [
    ...Array.from({ length: damageCases }, (_, n) => `damage ${n}`),
    ...Array.from({ length: requestCases }, (_, n) => `request ${n}`),
  ]
}

export const inputs: Layer = {
  name: 'inputs',
  about: 'requests from the API’s description, and ledgers damaged in rows, bytes and blobs',
  missing: () => null,
  // 20,000 and 1,000,000.
  plan: async (size) =>
    ({ test: () => ['damage 0 20'], small: () => plan(2, 8), full: () => plan(100, 400) })[size](),
  run: (name, seed) => {
    const [kind, , count] = name.split(' ')
    const own = 1 + Math.floor(chanceOf(seed, name)() * 1e8)
    if (kind === 'request') return requests(Number(count ?? requestsEach), own)
    return damages(own, Number(count ?? damagesEach))
  },
  control: async () => [await unsealed()],
}

/** The same damage where every MAC is taken for right. */
async function unsealed(): Promise<Control> {
  const { wrong, injected } = await damages(1, 12, true)
  const answers = wrong.filter((each) => /WRONG ANSWER|SECOND SEND/.test(each)).length
  const evidence = `${injected} receipts changed, ${answers} wrong answers`
  return { name: 'MACs that are not checked', failed: answers > 0, evidence }
}
