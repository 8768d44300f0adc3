// A process of its own: plain checkpoint replay, the engine that most agents begin with. It saves
// its state after each step and, started again, goes on with the first step that is not in it. A
// step that was done and not yet saved is done again: nothing says that it was ever begun.
import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  writeSync,
} from 'node:fs'
import { tellDemo } from './message.ts'
import { fileOrder, ownFolder, planOrder, readContext, sendEmail, stateFile } from './world.ts'

const folder = ownFolder()
const path = stateFile(folder)

interface State {
  read_context?: ReturnType<typeof readContext>
  plan?: ReturnType<typeof planOrder>
  send_email?: { messageId: string }
  approval?: { approved: boolean }
  file_order?: { number: string }
}

async function resume(): Promise<void> {
  const state: State = existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : {}
  state.read_context ??= readContext('acme')
  save(state)
  state.plan ??= planOrder(state.read_context)
  save(state)
  state.send_email ??= await sendEmail(folder, state.plan.email)
  save(state)
  state.approval ??= { approved: true }
  save(state)
  state.file_order ??= fileOrder(folder, 'plain', state.plan.order)
  save(state)
}

/** As careful as it can be: synced, then renamed into place. It does not help. */
function save(state: State): void {
  const draft = `${path}.draft`
  const fd = openSync(draft, 'w')
  writeSync(fd, JSON.stringify(state, null, 2))
  fsyncSync(fd)
  closeSync(fd)
  renameSync(draft, path)
}

await resume()
tellDemo({ kind: 'finished' })
process.disconnect?.()
