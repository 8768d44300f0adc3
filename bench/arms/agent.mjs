// What the three agents share: the task, and the way to the world.

/** @typedef {{ role: string, content: string }} Message */

export const turns = ['acme', 'globex', 'initech']

/** @param {string} url */
export const worldAt = (url) => ({
  /**
   * @param {string} path
   * @param {object} body
   * @returns {Promise<any>}
   */
  async post(path, body) {
    const response = await fetch(`${url}${path}`, { method: 'POST', body: JSON.stringify(body) })
    return response.json()
  },
})

/**
 * The agent's loop over one turn: the model is asked, its tool is called, until it has nothing more
 * to call. `messages` is the conversation, and is added to.
 * @param {Message[]} messages
 * @param {{ model: (messages: Message[]) => Promise<any>, call: (tool: string, input: any) => Promise<any>, saved?: () => void }} by
 */
export async function turn(messages, { model, call, saved }) {
  for (;;) {
    const last = messages.at(-1)
    const asked = last?.role === 'assistant' ? JSON.parse(last.content) : null
    if (asked?.tool) {
      const result = await call(asked.tool, asked.input)
      messages.push({ role: 'tool', content: result.found ?? result.messageId })
    } else {
      const reply = await model(messages)
      messages.push({ role: 'assistant', content: JSON.stringify(reply) })
      if (!reply.tool) return
    }
    saved?.()
  }
}
