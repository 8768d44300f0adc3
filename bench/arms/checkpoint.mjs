// Arm 2: a checkpoint after every act, as graph runtimes do: what the model said and what a tool
// answered is on disk before the next step begins.

import { turn, turns, worldAt } from './agent.mjs'
import { read, save } from './file.mjs'

const [, , url = '', dir = '', task = ''] = process.argv
const world = worldAt(url)
const kept = read(dir)
for (const about of turns.slice(kept.turns)) {
  const { messages } = kept
  if (!messages.some(({ role, content }) => role === 'user' && content === about)) {
    messages.push({ role: 'user', content: about })
  }
  await turn(messages, {
    model: (said) => world.post('/model', { messages: said }),
    call: (tool, input) => world.post(tool === 'lookup' ? '/lookup' : '/send', { task, ...input }),
    saved: () => save(dir, kept),
  })
  kept.turns++
  save(dir, kept)
}
