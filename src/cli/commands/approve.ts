// counterfoil approve, reject and respond: decide, in fewer words
import type { Command } from 'commander'
import { addGlobals, cliOf } from '../cli.ts'
import { type DecideOptions, decideItem } from '../deciding.ts'

const seen = `
It is about what you have seen: give the --version that \`counterfoil inbox show\`
prints. Without it the item is shown, and you are asked; without a terminal
nothing is decided, and the exact command is printed.`

const approveHelp = `
The approval holds for exactly what is shown. With --edit it is given for
something else in its place, which must fit the schema of the item, if it has
one.
${seen}

Examples:
  counterfoil approve item_5c01… --version 1
  counterfoil approve item_5c01… --version 1 --edit '{"amount": 40}' \\
    --reason 'half of it will do'
  counterfoil approve item_5c01… --version 1 --edit @draft.json`

const rejectHelp = `
The workflow is told, with the reason: it may end, or try again and ask again.
${seen}

Example:
  counterfoil reject item_5c01… --version 1 --reason 'the tone is wrong'`

const respondHelp = `
Answers a question, or says something about an approval without deciding it:
the workflow is given the answer and goes on with it. The answer is JSON; a
plain text needs quotes of its own.
${seen}

Examples:
  counterfoil respond item_77aa… '{"approved": true}' --version 1
  counterfoil respond item_77aa… '"ask again on Monday"' --version 1
  counterfoil respond item_77aa… @answer.json --version 1`

export function addApprove(program: Command): void {
  const command = program
    .command('approve <item>')
    .description('approve an item of the inbox, as it is or edited')
    .option('--edit <json>', 'approve this instead; @file reads a file')
  ways(command, 'why (approved on the command line)')
    .addHelpText('after', approveHelp)
    .action((itemId: string, { edit, ...options }: DecideOptions & { edit?: string }) => {
      const outcome = edit === undefined ? 'approve' : 'edit'
      const json = edit === undefined ? {} : { json: { option: '--edit', text: edit } }
      const reasonUnlessTold = 'approved on the command line'
      const words = ['approve', itemId, ...(edit === undefined ? [] : ['--edit', edit])]
      const said = { itemId, outcome, ...json, reasonUnlessTold, words } as const
      return decideItem(cliOf(command), said, options)
    })
  addGlobals(command)
}

export function addReject(program: Command): void {
  const command = program.command('reject <item>').description('reject an item of the inbox')
  ways(command, 'why; required: the workflow is told')
    .addHelpText('after', rejectHelp)
    .action((itemId: string, options: DecideOptions) =>
      decideItem(cliOf(command), { itemId, outcome: 'reject', words: ['reject', itemId] }, options),
    )
  addGlobals(command)
}

export function addRespond(program: Command): void {
  const command = program
    .command('respond <item> <json>')
    .description('answer a question of the inbox')
  ways(command, 'why (answered on the command line)')
    .addHelpText('after', respondHelp)
    .action((itemId: string, text: string, options: DecideOptions) => {
      const example = (answer: string) => `respond ${itemId} ${answer}`
      const json = { option: 'the answer', text, words: example }
      const reasonUnlessTold = 'answered on the command line'
      const words = ['respond', itemId, text]
      const said = { itemId, outcome: 'respond', json, reasonUnlessTold, words } as const
      return decideItem(cliOf(command), said, options)
    })
  addGlobals(command)
}

function ways(command: Command, reason: string): Command {
  return command
    .option('--by <name>', 'who decides (the user of this machine)')
    .option('--claim <claims...>', 'what else they are: role:finance, group:board')
    .option('--reason <text>', reason)
    .option('--evidence <text>', 'where it can be seen: a link, a line of a log')
    .option('--version <n>', 'the version of the item that you looked at')
    .option('-y, --yes', 'take the present version, and do not ask')
}
