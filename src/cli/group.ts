// A command that only holds others: alone it prints its help, and a word that it does not know is
// answered with the one that was meant.
import type { Command } from 'commander'
import { addGlobals } from './cli.ts'
import { nearest, suggestion, usageError } from './usage.ts'

export interface GroupOptions {
  /** What is meant by a word that is like none of its commands. */
  readonly otherwise?: (word: string) => string
}

export function finishGroup(command: Command, { otherwise }: GroupOptions = {}): void {
  const name = command.name()
  command.allowExcessArguments().action(() => {
    const [first, ...rest] = command.args
    if (first === undefined) return command.help({ error: true })
    const names = command.commands.map((one) => one.name())
    const near = nearest(first, names)
    const meant = near === null ? otherwise?.(first) : [near, ...rest].join(' ')
    const hint =
      meant === undefined ? suggestion(first, names) : `; did you mean: ${name} ${meant}?`
    throw usageError(`unknown command '${name} ${first}'${hint}`)
  })
  addGlobals(command)
}
