// The same agent on plain checkpoint replay: 2 mails.
import { existsSync, readFileSync } from 'node:fs'
import type { Exit } from './children.ts'
import { killAfterAccept, must, type Stage, startMailServer } from './stage.ts'
import { readOutbox, stateFile } from './world.ts'

export interface PlainEnd {
  readonly mails: number
  readonly kill: Exit
}

export async function plainStory(stage: Stage): Promise<PlainEnd> {
  stage.title('1. Plain checkpoint replay', 'saves its state after each step, and no more')
  const folder = stage.subfolder('plain')
  const server = await startMailServer(stage, folder)

  const first = stage.children.spawn('plain-worker', folder)
  stage.say(`worker ${first.pid} starts: reads context, plans, sends the e-mail`)
  const { exit } = await killAfterAccept(stage, server, first)
  must(!savedSteps(folder).includes('send_email'), 'the sending was saved before the kill')

  const second = stage.children.spawn('plain-worker', folder)
  stage.say(`worker ${second.pid} starts from the saved state: ${savedSteps(folder).join(', ')}`)
  const { messageId } = await server.next('accepted')
  stage.say(`the mail server takes the same e-mail again (${messageId})`)
  await second.next('finished')

  const mails = readOutbox(folder).length
  must(mails === 2, `plain checkpoint replay sent ${mails} mails, not 2`)
  stage.say(`done: ${mails} mails in the outbox, and nobody was told`)
  return { mails, kill: exit }
}

function savedSteps(folder: string): string[] {
  const path = stateFile(folder)
  return existsSync(path) ? Object.keys(JSON.parse(readFileSync(path, 'utf8'))) : []
}
