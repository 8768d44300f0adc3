// Nothing of the machine that a file was written on may be committed.
import { homedir } from 'node:os'
import { linesMatching, type Source } from './files.ts'

/** No registry's address: everyone installs from their own. */
export function checkRegistry(source: Source): string[] {
  if (!/(?:^|\/)(?:package-lock\.json|\.npmrc)$/.test(source.path)) return []
  const pattern = /\bregistry\.|"resolved": "http|^\s*(?:@[^:]+:)?registry\s*=/
  return linesMatching(source, pattern, 'names a registry')
}

/** No absolute path: of the folder we work in, or of the home of whoever runs this. */
export function checkPaths(source: Source, home = homedir()): string[] {
  const folders = [['', 'work', ''].join('/'), ...(home.length > 1 ? [`${home}/`] : [])]
  const escaped = folders.map((name) => name.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  const pattern = new RegExp(`(?<![\\w.-])(?:${escaped.join('|')})`)
  return linesMatching(source, pattern, 'holds a path of one machine')
}
