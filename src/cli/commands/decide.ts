// counterfoil decide
import type { Command } from 'commander'
import { listed, outcomesThat } from '../../model/decisions/outcomes.ts'
import { outcomes } from '../../model/run/records.ts'
import { addGlobals, cliOf } from '../cli.ts'
import { type DecideOptions, decideItem } from '../deciding.ts'
import { oneOf } from '../usage.ts'

const kinds = [
  ['of an approval', listed('approval', null)],
  ['of a question', listed('question', null)],
  ['of a call nobody knows about', listed('doubt', 'unknown')],
  ['of a call without its record', listed('doubt', 'drift')],
  ['of a run that kills workers', listed('doubt', 'poison')],
].map(([what, some]) => `  ${String(what).padEnd(30)} ${(some as readonly string[]).join(', ')}`)

const denials = outcomesThat('denies').map((outcome) => `"${outcome}"`)

const help = `
Outcomes (\`counterfoil inbox show\` lists those of an item, and what follows):
${kinds.join('\n')}
Short forms: counterfoil approve, reject and respond.

A decision is about what you have seen: \`counterfoil inbox show\` prints the
version to give. Without it the item is shown, and you are asked; without a
terminal nothing is decided, and the exact command is printed.

${denials.join(' and ')} are not allowed yet while what was sent may still
arrive. --made-sure states, on record and under your name, that every attempt is
over.

Examples:
  counterfoil decide item_1f0c… happened --result '{"messageId": "m-7"}' \\
    --version 1 --reason 'seen in the log of the mail provider'
  counterfoil decide item_1f0c… did_not_happen --version 1 --reason 'not there'
  counterfoil decide item_5c01… edit --result @draft.json --version 1 \\
    --reason 'shorter'
  counterfoil decide item_90b1… use_record --record send_email/3f9a1c/0 \\
    --version 1 --reason 'the same mail, with another time in it'`

interface Options extends DecideOptions {
  result?: string
}

export function addDecide(program: Command): void {
  const command = program
    .command('decide <item> <outcome>')
    .description('decide an item of the inbox')
    .option('--result <json>', 'what it is answered with; @file reads a file')
    .option('--record <name>', 'the record that is meant: tool/hash/occurrence')
    .option('--by <name>', 'who decides (the user of this machine)')
    .option('--claim <claims...>', 'what else they are: role:finance, group:board')
    .option('--reason <text>', 'why; required, and kept on record')
    .option('--evidence <text>', 'where it can be seen: a link, a line of a log')
    .option('--made-sure', 'state on record that every earlier attempt is over')
    .option('--version <n>', 'the version of the item that you looked at')
    .option('-y, --yes', 'take the present version, and do not ask')
    .addHelpText('after', help)
    .action((itemId: string, said: string, { result, ...options }: Options) => {
      const outcome = oneOf('outcome', said.replaceAll('-', '_'), outcomes)
      const json = result === undefined ? {} : { json: { option: '--result', text: result } }
      const words = [
        'decide',
        itemId,
        outcome,
        ...(result === undefined ? [] : ['--result', result]),
      ]
      return decideItem(cliOf(command), { itemId, outcome, ...json, words }, options)
    })
  addGlobals(command)
}
