// counterfoil completion
import { Argument, type Command } from 'commander'
import { addGlobals, cliOf } from '../cli.ts'
import { completionScript, shells } from '../completion/scripts.ts'
import { placesOf } from '../completion/tree.ts'
import { oneOf } from '../usage.ts'

const help = `
Prints a script; where it goes depends on the shell:
  bash   in ~/.bashrc:   eval "$(counterfoil completion bash)"
  zsh    in ~/.zshrc:    eval "$(counterfoil completion zsh)"
  fish   once:           counterfoil completion fish \\
                           > ~/.config/fish/completions/counterfoil.fish

Example:
  eval "$(counterfoil completion bash)"`

function shellArgument(): Argument {
  const argument = new Argument('<shell>', 'the shell that you use')
  // Only told: what is not among them is refused below, in words like everywhere else.
  argument.argChoices = [...shells]
  return argument
}

export function addCompletion(program: Command): void {
  const command = program
    .command('completion')
    .addArgument(shellArgument())
    .description(`print a script that completes commands: ${shells.join(', ')}`)
    .addHelpText('after', help)
    .action((given: string) => {
      const cli = cliOf(command)
      const shell = oneOf('shell', given, shells)
      const script = completionScript(shell, placesOf(program))
      cli.out.data({ shell, script })
      cli.out.text(script)
    })
  addGlobals(command, { store: false })
}
