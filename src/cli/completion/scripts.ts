// Completion for shells, as scripts that hold all they need: nothing is run while a user types.
import { commandPatterns, type Place, valuePatterns, type Word } from './tree.ts'

export const shells = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof shells)[number]

const makers: Readonly<Record<Shell, (places: readonly Place[]) => string[]>> = { bash, zsh, fish }

export function completionScript(shell: Shell, places: readonly Place[]): string {
  return makers[shell](places).join('\n')
}

/** In single quotes, as all three shells read them. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}

/** Fish has a backslash for both inside of single quotes. */
function fishQuoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}

function names(words: readonly Word[]): string {
  return words.map((word) => word.name).join(' ')
}

function bash(places: readonly Place[]): string[] {
  const { any, at } = valuePatterns(places)
  const valued = [...any.map((name) => `*'|${name}'`), ...at.map(quoted)]
  return [
    '# Completion of counterfoil for bash. In ~/.bashrc:',
    '#   eval "$(counterfoil completion bash)"',
    '_counterfoil() {',
    `  local current="\${COMP_WORDS[COMP_CWORD]}" place="" commands="" options="" word i skip=0`,
    '  for ((i = 1; i < COMP_CWORD; i++)); do',
    `    word="\${COMP_WORDS[i]}"`,
    '    if ((skip)); then skip=0; continue; fi',
    '    case "$place|$word" in',
    `      ${valued.join('|')}) skip=1 ;;`,
    `      ${commandPatterns(places).map(quoted).join('|')}) place="\${place:+$place }$word" ;;`,
    '    esac',
    '  done',
    '  COMPREPLY=()',
    '  if ((skip)); then return; fi',
    '  case "$place" in',
    ...places.map(
      ({ path, commands, options }) =>
        `    ${quoted(path)}) commands=${quoted(names(commands))} ` +
        `options=${quoted(names(options))} ;;`,
    ),
    '  esac',
    '  case "$current" in',
    '    -*) COMPREPLY=($(compgen -W "$options" -- "$current")) ;;',
    '    *) COMPREPLY=($(compgen -W "$commands" -- "$current")) ;;',
    '  esac',
    '}',
    'complete -o default -F _counterfoil counterfoil',
  ]
}

function zsh(places: readonly Place[]): string[] {
  const { any, at } = valuePatterns(places)
  const valued = [...any.map((name) => `*'|${name}'`), ...at.map(quoted)]
  // `commands` and `options` are zsh's own. A colon ends the word that is described.
  const described = (words: readonly Word[]) =>
    words.map(({ name, description }) => quoted(`${name}:${description}`)).join(' ')
  return [
    '#compdef counterfoil',
    '# Completion of counterfoil for zsh. In ~/.zshrc, after compinit:',
    '#   eval "$(counterfoil completion zsh)"',
    '_counterfoil() {',
    '  local place="" word',
    '  local -i i skip=0',
    '  local -a verbs flags',
    '  for ((i = 2; i < CURRENT; i++)); do',
    `    word="\${words[i]}"`,
    '    if ((skip)); then skip=0; continue; fi',
    '    case "$place|$word" in',
    `      (${valued.join('|')}) skip=1 ;;`,
    `      (${commandPatterns(places).map(quoted).join('|')}) place="\${place:+$place }$word" ;;`,
    '    esac',
    '  done',
    '  if ((skip)); then _files; return; fi',
    '  case "$place" in',
    ...places.map(
      ({ path, commands, options }) =>
        `    (${quoted(path)}) verbs=(${described(commands)}) ` +
        `flags=(${described(options)}) ;;`,
    ),
    '  esac',
    `  if [[ "\${words[CURRENT]}" == -* ]]; then _describe option flags`,
    `  elif (( \${#verbs} )); then _describe command verbs`,
    '  else _files; fi',
    '}',
    'compdef _counterfoil counterfoil',
  ]
}

function fish(places: readonly Place[]): string[] {
  const { any, at } = valuePatterns(places)
  const valued = [...any.map((name) => `*|${name}`), ...at].map(fishQuoted).join(' ')
  return [
    '# Completion of counterfoil for fish. Once:',
    '#   counterfoil completion fish > ~/.config/fish/completions/counterfoil.fish',
    'function __counterfoil_at',
    "    set -l place ''",
    '    set -l skip 0',
    '    for word in (commandline -opc)[2..-1]',
    '        if test $skip = 1',
    '            set skip 0',
    '            continue',
    '        end',
    '        switch "$place|$word"',
    `            case ${valued}`,
    '                set skip 1',
    `            case ${commandPatterns(places).map(fishQuoted).join(' ')}`,
    '                set place (string trim -- "$place $word")',
    '        end',
    '    end',
    '    test "$place" = "$argv[1]"',
    'end',
    'complete -c counterfoil -e',
    ...places.flatMap(fishPlace),
  ]
}

function fishPlace({ path, commands, options, valued }: Place): string[] {
  const at = `complete -c counterfoil -n ${fishQuoted(`__counterfoil_at ${fishQuoted(path)}`)}`
  const words = commands.map(
    ({ name, description }) => `${at} -f -a ${fishQuoted(name)} -d ${fishQuoted(description)}`,
  )
  const flags = options.map(({ name, description }) => {
    const form = name.startsWith('--') ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`
    return `${at} ${form}${valued.includes(name) ? ' -r' : ''} -d ${fishQuoted(description)}`
  })
  return [...words, ...flags]
}
