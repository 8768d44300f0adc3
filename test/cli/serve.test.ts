import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { start } from './harness.ts'

function folder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'cf-serve-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  return dir
}

test('M1, M2 serve prints an address that signs in once, and ends at SIGTERM', async () => {
  const db = join(folder(), 'runs.db')
  const serving = start(['serve', '--port', '0', '--json', '--store', `sqlite:${db}`])
  const line = (await serving.says('"entry_url"')).trim()
  const { url, entry_url: entry } = JSON.parse(line)
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
  const first = await fetch(entry, { redirect: 'manual' })
  expect(first.status).toBe(303)
  expect((await fetch(entry, { redirect: 'manual' })).status).toBe(401)

  const made = await start([
    ...['token', 'create', '--name', 'ana', '--expires', '30d', '--json'],
    ...['--store', `sqlite:${db}`],
  ]).ended
  const { token, token_id: id } = JSON.parse(made.stdout)
  const headers = { authorization: `Bearer ${token}` }
  expect((await fetch(`${url}/v1/runs`, { headers })).status).toBe(200)
  const listed = await start(['token', 'list', '--store', `sqlite:${db}`]).ended
  expect(listed.stdout).toContain(id)
  expect(listed.stdout).not.toContain(token)
  await start(['token', 'revoke', id, '--store', `sqlite:${db}`]).ended
  expect((await fetch(`${url}/v1/runs`, { headers })).status).toBe(401)

  const kept = ['', '-wal'].map((end) => `${db}${end}`).filter(existsSync)
  const text = kept.map((path) => readFileSync(path).toString('latin1')).join('')
  for (const secret of [token, entry]) expect(text.includes(secret.slice(-64))).toBe(false)
  serving.child.kill('SIGTERM')
  expect(await serving.ended).toMatchObject({ code: 0, signal: null, stderr: '' })
})

test('M1 serve refuses to let others in without TLS before it', async () => {
  const args = ['serve', '--host', '0.0.0.0', '--port', '0', '--store']
  const ended = await start([...args, `sqlite:${join(folder(), 'runs.db')}`]).ended
  expect([ended.code, ended.stdout]).toEqual([1, ''])
  expect(ended.stderr).toContain('--public-url')
})
