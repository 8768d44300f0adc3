// Every command's help ends with how it is used.
import type { Command } from 'commander'

export function addExample(command: Command, line: string): void {
  command.addHelpText('after', `\nExample:\n  counterfoil ${line}`)
}
