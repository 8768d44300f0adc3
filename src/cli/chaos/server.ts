// A process of its own: the upstream of one crash point. It is never killed, so that what it has
// done is known whatever becomes of those who asked; its log is synced line by line.
import { fsyncSync, openSync, readFileSync, writeSync } from 'node:fs'
import { pause, systemClock } from '../../clock.ts'
import { answerOf, factsOf, readModule, signalOf } from './module.ts'
import type { Ask, Asked, Reply } from './types.ts'
import { failureOf, type Line, type Recorded, Upstream } from './upstream.ts'
import { type Greeting, type ServerSpec, serve } from './wire.ts'

// What a dead process has sent may still be on its way through the kernel and this event loop.
const lateMs = 40

const tell = (greeting: Greeting) => void process.send?.(greeting)

async function main(): Promise<void> {
  const spec = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as ServerSpec
  const brought = await readModule(spec.file)
  const log = openSync(spec.log, 'a')
  const write = (line: Line) => {
    writeSync(log, `${JSON.stringify(line)}\n`)
    fsyncSync(log)
  }
  const recorded: Recorded[] =
    spec.recording === null ? [] : JSON.parse(readFileSync(spec.recording, 'utf8'))
  const upstream = new Upstream({ mocks: brought.mocks, recorded, write })
  const { port } = await serve({
    '/ask': (ask: Ask) => upstream.serve(ask),
    '/begin': (ask: Ask) => upstream.begin(ask),
    '/end': ({ id, reply }: { id: number; reply: Reply }) => upstream.end(id, reply),
    '/answer': (asked: Asked) => answerOf(brought.answers, asked),
    '/signal': (signal: { name: string; runId: string }) => signalOf(brought.signals, signal),
    '/effects': () => brought.effects?.(),
    '/idle': async () => {
      await pause(systemClock, lateMs)
      await upstream.idle()
    },
  })
  tell({ port, facts: factsOf(brought) })
}

process.on('disconnect', () => process.exit(0))
main().catch((error) => tell({ error: failureOf(error) }))
