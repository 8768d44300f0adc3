// Preloaded (`--import`), for a control: commits that fail are taken for done.
import Database from 'better-sqlite3'

const { prepare } = Database.prototype

Database.prototype.prepare = /** @type {any} */ (
  function prepareDeaf(/** @type {string} */ text) {
    const statement = prepare.call(this, text)
    if (text !== 'commit') return statement
    const { run } = statement
    statement.run = (/** @type {any[]} */ ...args) => {
      try {
        return run.apply(statement, args)
      } catch {
        if (this.inTransaction) this.exec('rollback')
        return { changes: 0, lastInsertRowid: 0 }
      }
    }
    return statement
  }
)
