// The ordinary suite on sources with one mutant's edit, named by COUNTERFOIL_MUTANT.
import { defineConfig } from 'vitest/config'
import { editor, root } from '../../scripts/bundle.mjs'
import { mutants } from './mutants.mjs'

const { COUNTERFOIL_MUTANT: name } = process.env
const mutant = mutants.find((each) => each.name === name)
if (name && mutant === undefined) throw new Error(`there is no mutant ${name}`)

export default defineConfig({
  root,
  plugins: mutant ? [editor(mutant)] : [],
  test: { include: ['test/**/*.test.ts'], testTimeout: 10_000, pool: 'forks', bail: 1 },
})
