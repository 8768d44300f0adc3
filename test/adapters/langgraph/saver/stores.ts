// What tests of the saver share: each kind of store, opened for the public API.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe } from 'vitest'
import { randomHex } from '../../../../src/clock.ts'
import { type Counterfoil, type OpenOptions, open } from '../../../../src/index.ts'
import { describePostgres, dropSchema, key, postgresUrl } from '../../../postgres/bench.ts'

export interface Kind {
  readonly name: string
  readonly describe: typeof describe | typeof describePostgres
  /** A store with nothing in it: a new one, or a namespace of its own. */
  open(): Promise<Counterfoil>
  /** Another process would open the same. */
  again(cf: Counterfoil): Promise<Counterfoil>
  /** Closes what is open and removes what was made. */
  end(): Promise<void>
}

export function kinds(): Kind[] {
  return [memory(), sqlite(), postgres()]
}

export function memory(): Kind {
  const { opened, end } = openings()
  return {
    ...{ name: 'memory', describe, end },
    open: () => opened({ store: 'memory:', onWarning: () => {} }),
    again: async (cf) => cf,
  }
}

export function sqlite(): Kind {
  const dir = mkdtempSync(join(tmpdir(), 'counterfoil-saver-'))
  const { opened, options, end } = openings()
  return {
    ...{ name: 'sqlite', describe },
    open: () => opened({ store: `sqlite:${join(dir, `${randomHex(6)}.db`)}` }),
    again: (cf) => opened(options(cf)),
    end: async () => {
      await end()
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

export function postgres(): Kind {
  const { opened, options, end } = openings()
  let url: string | undefined
  return {
    ...{ name: 'postgres', describe: describePostgres },
    open: () => {
      url ??= postgresUrl()
      return opened({ store: url, key, namespace: `n${randomHex(6)}`, onWarning: () => {} })
    },
    again: (cf) => opened(options(cf)),
    end: async () => {
      await end()
      if (url !== undefined) await dropSchema(url)
    },
  }
}

function openings() {
  const all = new Map<Counterfoil, OpenOptions>()
  return {
    opened: async (options: OpenOptions) => {
      const cf = await open(options)
      all.set(cf, options)
      return cf
    },
    options: (cf: Counterfoil) => all.get(cf) as OpenOptions,
    end: async () => {
      for (const cf of all.keys()) await cf.close()
      all.clear()
    },
  }
}
