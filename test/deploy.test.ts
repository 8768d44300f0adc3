// The files under deploy/ say what the command line understands, and give it the time it asks for.
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createProgram } from '../src/cli/program.ts'
import { milliseconds } from '../src/cli/usage.ts'

const root = fileURLToPath(new URL('../deploy', import.meta.url))
const read = (name: string) => readFileSync(join(root, name), 'utf8')
const unit = read('counterfoil-worker@.service')
const container = read('Containerfile')
const workers = read('kubernetes/worker.yaml')
const migrate = read('kubernetes/migrate.yaml')

/** The words after `counterfoil` in each file. */
const commands: Record<string, string[]> = {
  unit: (/^ExecStart=\S+ \S+ (.*)$/m.exec(unit)?.[1] ?? '').split(' '),
  container: JSON.parse(/^CMD (\[.*\])$/m.exec(container)?.[1] ?? '[]'),
  workers: [...workers.matchAll(/^ {12}- ([\w.=/-]+)$/gm)].map(([, word = '']) => word),
  migrate: JSON.parse(/args: (\[.*\])/.exec(migrate)?.[1] ?? '[]'),
}

/** Words that the command line does not know. */
function strange(words: readonly string[]): string[] {
  let command = createProgram({ json: false })
  return words
    .flatMap((word) => word.split('='))
    .filter((word) => {
      if (word.startsWith('-')) return !command.options.some((option) => option.long === word)
      const next = command.commands.find((one) => one.name() === word)
      if (next) command = next
      else return !/^[\w./-]+$/.test(word)
      return false
    })
}

function graceMs(words: readonly string[]): number {
  const flat = words.flatMap((word) => word.split('='))
  return milliseconds('--grace', flat[flat.indexOf('--grace') + 1] ?? '')
}

describe('M4 the commands in the files', () => {
  test.each(Object.entries(commands))('%s', (name, words) => {
    expect(words[0]).toBe(name === 'migrate' ? 'db' : 'worker')
    expect(strange(words)).toEqual([])
    expect(strange([...words, '--gracious'])).toEqual(['--gracious'])
  })
})

test('M4 a supervisor waits for longer than the grace that the worker takes', () => {
  const stopMs = Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)?.[1]) * 1_000
  expect(stopMs).toBeGreaterThan(graceMs(commands['unit'] ?? []))
  const podMs = Number(/terminationGracePeriodSeconds: (\d+)/.exec(workers)?.[1]) * 1_000
  expect(podMs).toBeGreaterThan(graceMs(commands['workers'] ?? []))
})

test('M4 the unit comes back after anything, ends with all it began, and knows its machine', () => {
  const lines = unit.split('\n')
  for (const line of ['Restart=always', 'KillMode=mixed', 'StartLimitIntervalSec=0']) {
    expect(lines).toContain(line)
  }
  expect(lines).toContain('Environment=COUNTERFOIL_MACHINE=%m')
  expect(unit).toMatch(/^EnvironmentFile=/m)
  // A folder of its own for each start would hide the sockets of those before it.
  expect(unit).not.toMatch(/^PrivateTmp=(?:yes|true)/m)
  expect(lines).toContain('RuntimeDirectoryPreserve=yes')
})

test('M4 systemd understands the unit', (context) => {
  if (spawnSync('systemd-analyze', ['--version']).error) return context.skip()
  const dir = mkdtempSync(join(tmpdir(), 'counterfoil-unit-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  const verify = (text: string) => {
    const path = join(dir, 'counterfoil-worker@1.4.0.service')
    writeFileSync(path, text.replace('/usr/bin/node', process.execPath))
    const { stderr, status } = spawnSync('systemd-analyze', ['verify', '--man=no', path])
    return { said: String(stderr), status }
  }
  expect(verify(unit)).toEqual({ said: '', status: 0 })
  expect(verify(unit.replace('KillMode', 'KillModus')).said).toContain('KillModus')
})

test('M4 the manifests hold no key, run as nobody of note, and are well indented', () => {
  for (const text of [workers, migrate]) {
    expect(text).not.toContain('\t')
    const odd = text.split('\n').filter((line) => (/^ */.exec(line)?.[0].length ?? 0) % 2 === 1)
    expect(odd).toEqual([])
    for (const part of ['runAsNonRoot: true', 'readOnlyRootFilesystem: true', 'secretKeyRef:']) {
      expect(text).toContain(part)
    }
    expect(text).not.toMatch(/postgres:\/\/|value: /)
  }
  const kinds = `${workers}\n${migrate}`.match(/^kind: .*$/gm)
  expect(kinds).toEqual(['kind: Deployment', 'kind: PodDisruptionBudget', 'kind: Job'])
})

test('M4 the probe of the manifest is true for a fresh file only', () => {
  const dir = mkdtempSync(join(tmpdir(), 'counterfoil-probe-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  const ready = join(dir, 'ready')
  const found = /livenessProbe:\n.*\n\s+command: (\[.*\])/.exec(workers)?.[1] ?? '[]'
  const [command = '', ...args] = (JSON.parse(found) as string[]).map((word) =>
    word.replaceAll('/tmp/ready', ready),
  )
  const probe = () => spawnSync(command, args).status
  expect(probe()).not.toBe(0)
  writeFileSync(ready, '')
  expect(probe()).toBe(0)
  execFileSync('touch', ['-d', '11 minutes ago', ready])
  expect(probe()).not.toBe(0)
})

test('M4 the image has no shell between the signal and the worker', () => {
  expect(container).toMatch(/^ENTRYPOINT \["node", /m)
  expect(container).toMatch(/^USER node$/m)
  expect(readdirSync(root)).toContain('README.md')
})
