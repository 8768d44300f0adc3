// The sources around a file, looked at until one of them changes. By their times and sizes: an
// editor may write a file in place or put another in its place, and a watch on either misses the
// other.
import { readdirSync, statSync } from 'node:fs'
import { dirname, extname, join, resolve } from 'node:path'
import { pause, systemClock } from '../../clock.ts'

const lookMs = 300
const filesMax = 5_000
const extensions = ['.js', '.mjs', '.cjs', '.ts', '.mts', '.cts', '.jsx', '.tsx', '.json']
const skipped = ['node_modules', 'dist', 'coverage']

/** Resolves when the sources are no longer as in that picture, or at `enough`. */
export async function sourcesChange(
  file: string,
  before: string,
  enough: Promise<void>,
): Promise<void> {
  let over = false
  void enough.then(() => {
    over = true
  })
  while (!over && picture(file) === before) {
    await Promise.race([enough, pause(systemClock, lookMs)])
  }
}

/** What the sources are like now. */
export function picture(file: string): string {
  const paths = sourcesUnder(dirname(resolve(file)))
  return [resolve(file), ...paths].map(look).join('\n')
}

function look(path: string): string {
  const stat = statSync(path, { throwIfNoEntry: false })
  return `${path} ${stat?.mtimeMs} ${stat?.size} ${stat?.ino}`
}

function sourcesUnder(directory: string): string[] {
  const found: string[] = []
  const rest = [directory]
  for (let next = rest.pop(); next !== undefined && found.length < filesMax; next = rest.pop()) {
    for (const entry of entriesOf(next)) {
      const path = join(next, entry.name)
      const hidden = entry.name.startsWith('.') || skipped.includes(entry.name)
      if (entry.isDirectory() && !hidden) rest.push(path)
      else if (extensions.includes(extname(entry.name))) found.push(path)
    }
  }
  return found
}

/** A folder that is gone, or not ours to read, has no sources. */
function entriesOf(directory: string) {
  try {
    return readdirSync(directory, { withFileTypes: true })
  } catch {
    return []
  }
}
