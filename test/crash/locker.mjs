// Another program that keeps the database locked for writing.
// locker.mjs <store file> <ms>
import Database from 'better-sqlite3'

const [, , file = '', ms = '3000'] = process.argv
const db = new Database(file)
db.exec('begin immediate')
process.stdout.write('locked\n')
setTimeout(() => {
  db.exec('commit')
  db.close()
  process.stdout.write('released\n')
}, Number(ms))
