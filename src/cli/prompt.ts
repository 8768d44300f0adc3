// Questions to whoever sits at the terminal. Null or false where they would rather not say.
import type { Cli } from './cli.ts'
import { usageError } from './usage.ts'

/** Asks before something that cannot be taken back; without a terminal it has to be said. */
export async function confirmed(
  cli: Cli,
  message: string,
  given: { yes?: boolean },
): Promise<boolean> {
  if (given.yes === true) return true
  if (!cli.interactive) {
    throw usageError(`there is no terminal to ask "${message}": give --yes to do it without asking`)
  }
  const { confirm, isCancel } = await prompts(cli)
  const sure = await confirm({ message, initialValue: false })
  return !isCancel(sure) && sure
}

export async function chosen<T extends string>(
  cli: Cli,
  message: string,
  options: readonly { value: T; label: string; hint?: string }[],
): Promise<T | null> {
  const { select, isCancel } = await prompts(cli)
  // The prompt's own type of an option depends on its value, which is a parameter here.
  const said = await select<string>({ message, options: options.map((one) => ({ ...one })) })
  return isCancel(said) ? null : (said as T)
}

/** A line of text; `wrong` says what is wrong with it, if anything. */
export async function typed(
  cli: Cli,
  message: string,
  wrong: (text: string) => string | undefined,
): Promise<string | null> {
  const { text, isCancel } = await prompts(cli)
  const said = await text({ message, validate: (given) => wrong(given ?? '') })
  return isCancel(said) ? null : said
}

async function prompts(cli: Cli) {
  cli.progress.end()
  return import('@clack/prompts')
}
