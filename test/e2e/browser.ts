// The system's Chromium, and where its pictures go.
import { existsSync, mkdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Browser, chromium } from 'playwright-core'

const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']

function find(): string | null {
  const { CHROMIUM_PATH: given, PATH: path = '' } = process.env
  if (given !== undefined) return given
  const places = path.split(delimiter).flatMap((dir) => names.map((name) => join(dir, name)))
  return places.find((place) => existsSync(place)) ?? null
}

const found = find()

/**
 * Without a browser there is nothing to try. On a developer's machine that is said and left at
 * that; in CI it fails.
 */
export const canBrowse = found !== null || process.env['CI'] !== undefined

if (found === null) {
  const how = 'install it (apt-get install chromium), or name one by CHROMIUM_PATH'
  console.warn(`There is no Chromium here, so the console is not tried in a browser: ${how}.`)
}

export function launch(): Promise<Browser> {
  if (found === null) throw new Error('there is no Chromium here: apt-get install chromium')
  const quiet = ['--no-first-run', '--disable-background-networking', '--disable-sync']
  const few = ['--disable-component-update', '--disable-quic', '--disable-gpu']
  return chromium.launch({ executablePath: found, args: ['--no-sandbox', ...quiet, ...few] })
}

const { COUNTERFOIL_SCREENSHOTS: wanted } = process.env
const folder = wanted ?? fileURLToPath(new URL('../../dist/screenshots', import.meta.url))

export function screenshotPath(name: string): string {
  mkdirSync(folder, { recursive: true })
  return join(folder, `${name}.png`)
}
