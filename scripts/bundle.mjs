// Bundles a program of the tests into one file, with a mutant's edit if one is named. Programs that
// run for long are not run by the test runner: it costs a third of the time.
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'

export const root = fileURLToPath(new URL('..', import.meta.url))
const folder = join(root, 'node_modules/.counterfoil-bundles')

/**
 * @typedef {{ name: string, file: string, find: string, replace: string }} Edit
 *
 * @param {string} entry
 * @param {string} name of the bundle
 * @param {Edit | null} [edit]
 * @returns {Promise<string>} its path
 */
export async function bundle(entry, name, edit = null) {
  mkdirSync(folder, { recursive: true })
  const build = await rolldown({
    input: join(root, entry),
    platform: 'node',
    external: (/** @type {string} */ id) => !id.startsWith('.') && !id.startsWith('/'),
    plugins: edit ? [editor(edit)] : [],
    logLevel: 'silent',
  })
  const file = join(folder, `${name}.mjs`)
  await build.write({ file, format: 'esm', codeSplitting: false })
  await build.close()
  return file
}

/** @param {Edit} edit */
export function editor(edit) {
  const path = join(root, edit.file)
  return {
    name: 'counterfoil-mutant',
    enforce: /** @type {const} */ ('pre'),
    load(/** @type {string} */ id) {
      if (id.split('?')[0] !== path) return null
      return { code: edited(edit), moduleType: /** @type {const} */ ('ts') }
    },
  }
}

/** @param {Edit} edit */
export function edited({ name, file, find, replace }) {
  const text = readFileSync(join(root, file), 'utf8')
  const times = text.split(find).length - 1
  if (times !== 1) throw new Error(`mutant ${name}: its text occurs ${times} times in ${file}`)
  return text.replace(find, () => replace)
}
