// Preloaded (`--import`), for a control: SQLite is asked for synchronous=FULL, is set to NORMAL,
// and says that it was set.
import Database from 'better-sqlite3'

const { pragma } = Database.prototype

/**
 * @param {string} text
 * @param {import('better-sqlite3').PragmaOptions} [options]
 */
function pragmaNormal(text, options) {
  if (text === 'synchronous') return options?.simple ? 2 : [{ synchronous: 2 }]
  // @ts-expect-error: the driver's own object
  return pragma.call(this, text.replace('synchronous = FULL', 'synchronous = NORMAL'), options)
}
Database.prototype.pragma = pragmaNormal
