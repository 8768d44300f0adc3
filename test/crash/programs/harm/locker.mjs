// Another program that keeps the database locked for writing, and lets go so long after SIGUSR2.
// locker.mjs <store file> <ms>
import Database from 'better-sqlite3'

const [, , file = '', ms = '3000'] = process.argv
const db = new Database(file)
db.exec('begin immediate')
const idle = setInterval(() => {}, 60_000)
process.once('SIGUSR2', () =>
  setTimeout(() => {
    clearInterval(idle)
    db.exec('commit')
    db.close()
    process.stdout.write('released\n')
  }, Number(ms)),
)
process.stdout.write('locked\n')
