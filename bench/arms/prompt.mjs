// Arm 1: the state is the prompt. The conversation is kept when a turn is over, as a chat does; an
// agent that died in a turn begins that turn again from the conversation.

import { turn, turns, worldAt } from './agent.mjs'
import { read, save } from './file.mjs'

const [, , url = '', dir = '', task = ''] = process.argv
const world = worldAt(url)
const kept = read(dir)
for (const about of turns.slice(kept.turns)) {
  const messages = [...kept.messages, { role: 'user', content: about }]
  await turn(messages, {
    model: (said) => world.post('/model', { messages: said }),
    call: (tool, input) => world.post(tool === 'lookup' ? '/lookup' : '/send', { task, ...input }),
  })
  kept.messages = messages
  kept.turns++
  save(dir, kept)
}
