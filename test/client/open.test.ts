// Opening: which stores there are, what they say about themselves, and what is refused.
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { open } from '../../src/index.ts'

const folders: string[] = []

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true })
})

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'counterfoil-open-'))
  folders.push(made)
  return made
}

describe('the URL of a store', () => {
  test.each([
    ...['', 'memory', 'memory:x', 'sqlite:', 'sqlite', 'runs.db', './runs.db', 'SQLITE:runs.db'],
    ...['postgres:/localhost/x', 'redis://localhost', 'file:runs.db', ' memory:'],
    ...[undefined, null, 7, {}, ['memory:']],
  ])('L1 %j is refused, and told what can be said', async (store) => {
    await expect(open({ store } as { store: string })).rejects.toMatchObject({
      code: 'STORE_URL_INVALID',
      retryable: false,
      message:
        `store ${JSON.stringify(store)} cannot be opened: ` +
        'use sqlite:runs.db, postgres://user@host/database or memory:',
    })
  })

  test('L1 sqlite: makes the file, with its key beside it, and finds it again', async () => {
    const path = join(folder(), 'runs.db')
    const first = await open({ store: `sqlite:${path}` })
    expect(existsSync(path)).toBe(true)
    expect(first.store.caveats).toEqual([])
    await first.close()
    const second = await open({ store: `sqlite:${path}` })
    await second.close()
  })

  test('L1 a missing directory and a file that is no database are refused', async () => {
    const here = folder()
    await expect(open({ store: `sqlite:${join(here, 'no', 'runs.db')}` })).rejects.toMatchObject({
      code: 'STORE_PATH_MISSING',
    })
    const letter = join(here, 'letter.txt')
    writeFileSync(letter, 'Dear Sir or Madam, '.repeat(1_000))
    await expect(open({ store: `sqlite:${letter}` })).rejects.toMatchObject({
      code: 'STORE_NOT_A_DATABASE',
    })
  })
})

describe('M5 the memory store says what it does not promise', () => {
  test('M5 at open, to whoever listens', async () => {
    const said: string[] = []
    const cf = await open({ store: 'memory:', onWarning: (message) => said.push(message) })
    expect(said).toEqual(cf.store.caveats)
    expect(said).toHaveLength(2)
    expect(said[0]).toMatch(/nothing survives the end of this process: not runs, not receipts/)
    expect(said[1]).toMatch(/other processes see nothing of it, so nobody can take a run over/)
    await cf.close()
  })

  test('M5 to Node, if nobody listens', async () => {
    const emit = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    try {
      const cf = await open({ store: 'memory:' })
      expect(emit.mock.calls).toEqual(cf.store.caveats.map((caveat) => [caveat, 'Counterfoil']))
      await cf.close()
    } finally {
      emit.mockRestore()
    }
  })

  test('M5 and a durable store says nothing of the kind', async () => {
    const said: string[] = []
    const store = `sqlite:${join(folder(), 'runs.db')}`
    const cf = await open({ store, onWarning: (message) => said.push(message) })
    expect(said).toEqual([])
    await cf.close()
  })

  test('M5 two memory stores share nothing', async () => {
    const quiet = { store: 'memory:', onWarning: () => {} }
    const [one, two] = [await open(quiet), await open(quiet)]
    expect(one.store).not.toBe(two.store)
    await Promise.all([one.close(), two.close()])
  })
})
