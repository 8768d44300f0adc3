// What the browser has to load. No browser is needed to weigh it.
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'

const built = fileURLToPath(new URL('../../dist/console', import.meta.url))
const bytesMax = 150 * 1024

function files(): { name: string; bytes: Buffer }[] {
  return readdirSync(built, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => ({
      name: entry.name,
      bytes: readFileSync(`${entry.parentPath}/${entry.name}`),
    }))
}

test('E8 the console is below 150 KB gzipped, scripts and styles together', () => {
  const weighed = files().filter(({ name }) => /\.(?:js|css)$/.test(name))
  expect(weighed.map(({ name }) => name.slice(-3)).sort()).toEqual(['.js', 'css'])
  const bytes = weighed.reduce((sum, file) => sum + gzipSync(file.bytes).length, 0)
  expect(bytes).toBeGreaterThan(10 * 1024)
  expect(bytes).toBeLessThan(bytesMax)
})

test('E8 the page holds no inline script or style, and nothing is loaded from elsewhere', () => {
  const html = readFileSync(`${built}/index.html`, 'utf8')
  expect(html).toMatch(/<script type="module"[^>]* src="\/assets\//)
  expect(html).not.toMatch(/<script(?![^>]* src=)|<style|\sstyle=|\son\w+=/)
  const addresses = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, to]) => to)
  expect(addresses.filter((to) => !to?.startsWith('/'))).toEqual([])
  const styles = files().filter(({ name }) => name.endsWith('.css'))
  expect(styles.map(({ bytes }) => bytes.toString()).join('')).not.toMatch(/url\((?!["']?\/)/)
})
