// The store of examples/own-store passes the core of the suite, and keeps what it says.
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { openFile } from '../../examples/own-store/file-store.mjs'
import { storeSuite } from '../../src/testing/index.ts'
import { newRun, ref } from '../../src/testing/store/fixtures.ts'

const folder = mkdtempSync(join(tmpdir(), 'counterfoil-own-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let count = 0
const path = () => join(folder, `${++count}.lines`)

storeSuite(
  'file',
  {
    open: async (clock) => openFile(path(), { clock }),
    reopen: async (store, clock) => {
      await store.close()
      return openFile(store.url.slice('file:'.length), { clock })
    },
    durable: false,
    ports: [],
  },
  { describe, test, expect },
)

describe('L5 a store on a file of lines', () => {
  async function written(): Promise<string> {
    const file = path()
    const store = openFile(file)
    await store.start(newRun('a'))
    await store.start(newRun('b'))
    await store.close()
    return file
  }

  test('B4 a line that was begun and not ended is cut off, and what follows is read', async () => {
    const file = await written()
    const whole = readFileSync(file, 'utf8')
    appendFileSync(file, 'k1:half a line')
    const store = openFile(file)
    expect(await store.getRun(ref('b'))).toMatchObject({ runId: 'b' })
    await store.start(newRun('c'))
    await store.close()
    expect(readFileSync(file, 'utf8').startsWith(whole)).toBe(true)
    const again = openFile(file)
    expect((await again.listRuns({ namespace: 'default' })).items.length).toBe(3)
    await again.close()
  })

  test.each([
    ['a changed line', (text: string) => text.replace('"pending"', '"running"')],
    ['a line taken out of the middle', (text: string) => text.slice(text.indexOf('\n') + 1)],
    [
      'two lines exchanged',
      (text: string) => `${text.split('\n').slice(0, 2).reverse().join('\n')}\n`,
    ],
  ])('B8 %s is noticed when it is opened', async (_, damage) => {
    const file = await written()
    writeFileSync(file, damage(readFileSync(file, 'utf8')))
    expect(() => openFile(file)).toThrow(expect.objectContaining({ code: 'STORE_CORRUPT' }))
    // Nobody is locked out of repairing it.
    expect(() => openFile(file)).toThrow(expect.objectContaining({ code: 'STORE_CORRUPT' }))
  })

  test('B8 lines whose key is gone are not signed anew', async () => {
    const file = await written()
    rmSync(`${file}.key`)
    expect(() => openFile(file)).toThrow(expect.objectContaining({ code: 'STORE_KEY_MISSING' }))
  })

  test('I2 only one process at a time has it, and a killed one does not keep it', async () => {
    const file = path()
    const store = openFile(file)
    expect(() => openFile(file)).toThrow(expect.objectContaining({ code: 'STORE_BUSY' }))
    await store.close()
    writeFileSync(`${file}.lock`, '999999999')
    const next = openFile(file)
    await next.close()
  })
})
