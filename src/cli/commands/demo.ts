// counterfoil demo
import type { Command } from 'commander'
import { addGlobals, cliOf } from '../cli.ts'

const help = `
A server with its console, a worker, and a few agents that go on until Ctrl-C:
vendors are taken on, trips are booked, customers are written to. Upstreams in a
process of their own count what was done. The page Demo has a button that kills
the worker (SIGKILL) in the middle of a call: watch what the next one does, and
decide what nobody can know. It prints an address that signs your browser in.

With --auto or --terminal it is a short story instead: an agent is killed after
the mail server has taken its e-mail and before it knows, once on plain
checkpoint replay, once on Counterfoil. If what it shows did not happen, it says
so and fails.

Examples:
  counterfoil demo                     in your browser, until you end it
  counterfoil demo --terminal          the story; you decide
  counterfoil demo --auto              the story; it decides by itself
  counterfoil demo --auto --json       what happened, as one document`

interface Options {
  auto?: boolean
  terminal?: boolean
  data?: string
  port?: string
}

export function addDemo(program: Command): void {
  const command = program
    .command('demo')
    .description('watch an agent be killed, resume, and send no e-mail twice')
    .option('--auto', 'a short story that decides by itself, from the outbox')
    .option('--terminal', 'a short story in this terminal; you decide')
    .option('--data <dir>', 'the folder for everything it writes (a fresh one)')
    .option('--port <n>', 'where the server listens (7070, or any that is free)')
    .addHelpText('after', help)
    .action(async (options: Options) => {
      // Loaded when it is wanted: it is half of the program, and no other command should wait for
      // it.
      if (options.auto || options.terminal) {
        const { runDemo } = await import('../demo/demo.ts')
        await runDemo(cliOf(command), options)
      } else {
        const { runLive } = await import('../demo/live/run.ts')
        await runLive(cliOf(command), options)
      }
    })
  addGlobals(command, { store: false })
}
