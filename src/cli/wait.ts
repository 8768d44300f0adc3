// Waiting for something that others do. Ctrl-C ends the waiting and nothing else.
import { pause, systemClock } from '../clock.ts'
import * as limits from '../model/limits.ts'
import type { Cli } from './cli.ts'

/**
 * Looks until there is something; null if whoever waits has had enough. What is said before that
 * may be heard already: `enough` listens since then.
 */
export async function waitFor<T>(
  cli: Cli,
  text: string,
  enough: Interrupt,
  look: () => Promise<T | null>,
): Promise<T | null> {
  cli.progress.begin(text)
  try {
    for (;;) {
      const found = await look()
      if (found !== null || enough.said !== null) return found
      await Promise.race([enough.promise, pause(systemClock, limits.pollMs)])
    }
  } finally {
    cli.progress.end()
    enough.forget()
    if (enough.said !== null) process.exitCode = enough.said
  }
}

export interface Interrupt {
  /** The exit code that a shell expects, once it has come. */
  said: number | null
  readonly promise: Promise<void>
  /** What comes next ends the process again, as it always does. */
  forget(): void
}

/** The first Ctrl-C, or a polite kill. */
export function interrupted(): Interrupt {
  let resolve = () => {}
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  const stop = (signal: NodeJS.Signals) => {
    found.said = signal === 'SIGINT' ? 130 : 143
    found.forget()
    resolve()
  }
  const found: Interrupt = {
    said: null,
    promise,
    forget: () => {
      process.off('SIGINT', stop)
      process.off('SIGTERM', stop)
    },
  }
  process.on('SIGINT', stop)
  process.on('SIGTERM', stop)
  return found
}
