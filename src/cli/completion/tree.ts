// The commands as completion needs them: at which place of a command line which words may follow.
import type { Command, Option } from 'commander'

export interface Word {
  readonly name: string
  readonly description: string
}

export interface Place {
  /** The commands so far: `run show`; the empty one is the program itself. */
  readonly path: string
  readonly commands: readonly Word[]
  readonly options: readonly Word[]
  /** Names of options that are followed by a value. */
  readonly valued: readonly string[]
}

export function placesOf(program: Command, path = ''): Place[] {
  const help = program.createHelp()
  const commands = help.visibleCommands(program)
  const options = help.visibleOptions(program)
  const place: Place = {
    path,
    commands: [
      ...commands.map((one) => ({ name: one.name(), description: one.description() })),
      ...choicesOf(program),
    ],
    options: options.flatMap((option) =>
      namesOf(option).map((name) => ({ name, description: option.description })),
    ),
    valued: options.filter((option) => option.required).flatMap(namesOf),
  }
  const below = commands
    .filter((one) => program.commands.includes(one))
    .flatMap((one) => placesOf(one, path === '' ? one.name() : `${path} ${one.name()}`))
  return [place, ...below]
}

/** What its first argument may be, where that is known. */
function choicesOf({ registeredArguments }: Command): Word[] {
  const [first] = registeredArguments
  return (first?.argChoices ?? []).map((name) => ({ name, description: first?.description ?? '' }))
}

function namesOf({ short, long }: Option): string[] {
  return [long, short].filter((name) => name !== undefined && name !== null)
}

/**
 * `place|option` of the options that take a value, as patterns of a shell: most take one wherever
 * they are known, so that a star stands for all those places.
 */
export function valuePatterns(places: readonly Place[]): { any: string[]; at: string[] } {
  const names = [...new Set(places.flatMap((place) => place.valued))]
  const knows = (place: Place, name: string) => place.options.some((one) => one.name === name)
  const always = (name: string) =>
    places.every((place) => !knows(place, name) || place.valued.includes(name))
  return {
    any: names.filter(always),
    at: places.flatMap((place) =>
      place.valued.filter((name) => !always(name)).map((name) => `${place.path}|${name}`),
    ),
  }
}

/** `place|command` of every command. */
export function commandPatterns(places: readonly Place[]): string[] {
  return places.flatMap((place) =>
    place.commands
      .filter(({ name }) => places.some(({ path }) => path === `${place.path} ${name}`.trim()))
      .map(({ name }) => `${place.path}|${name}`),
  )
}
