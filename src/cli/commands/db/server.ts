// What the commands about a database share.
import { type Clock, systemClock } from '../../../clock.ts'
import { hidePassword } from '../../../model/url.ts'
import { isPostgresUrl } from '../../../store/postgres/index.ts'
import type { Cli } from '../../cli.ts'
import { usageError } from '../../usage.ts'

export interface Where {
  readonly url: string
  readonly clock: Clock
}

/** The server that --store names; a file is refused. */
export function serverOf(cli: Cli, command: string): Where {
  const { storeUrl: url } = cli
  if (isPostgresUrl(url)) return { url, clock: systemClock }
  throw usageError(
    `${command} is for a Postgres store, and the store is ${hidePassword(url)}; name another ` +
      'with --store postgres://user@host/database or COUNTERFOIL_STORE',
  )
}

/** Does something on the server, with a word for those who wait. */
export async function atServer<T>(cli: Cli, doing: string, work: () => Promise<T>): Promise<T> {
  cli.progress.begin(doing)
  try {
    return await work()
  } finally {
    cli.progress.end()
  }
}
