// counterfoil demo
import type { Command } from 'commander'
import { addGlobals, cliOf } from '../cli.ts'

const help = `
An agent reads context, plans, sends an e-mail, waits for approval and files an
order. Its worker is killed for real (SIGKILL) after the mail server has taken
the e-mail and before the worker knows: once on plain checkpoint replay, once
on Counterfoil. It runs on this machine, in processes and a folder of its own,
for a few seconds. If what it shows did not happen, it says so and fails.

Examples:
  counterfoil demo                     you decide what became of the e-mail
  counterfoil demo --auto              it decides by itself
  counterfoil demo --auto --json       what happened, as one document`

export function addDemo(program: Command): void {
  const command = program
    .command('demo')
    .description('watch an agent be killed, resume, and send no e-mail twice')
    .option('--auto', 'ask nothing: decide by what is in the outbox')
    .option('--data <dir>', 'an empty folder for everything it writes (a fresh one)')
    .addHelpText('after', help)
    .action(async (options: { auto?: boolean; data?: string }) => {
      // Loaded when it is wanted: it is half of the program, and no other command should wait for
      // it.
      const { runDemo } = await import('../demo/demo.ts')
      await runDemo(cliOf(command), options)
    })
  addGlobals(command, { store: false })
}
