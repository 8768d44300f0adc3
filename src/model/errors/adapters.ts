// Errors of the adapters: threads and guards of LangGraph, agents of the AI SDK.
import { inWords, type Wordings } from './said.ts'

const langgraph = {
  GUARD_INVALID: (what: string, details: Record<string, unknown> = {}) => ({
    message: what,
    details,
  }),
  GUARD_ANSWER_INVALID: (why: string) => ({ message: `${why}. Nothing was decided, or sent` }),
  GUARD_NO_SAVER: () => ({
    message:
      'a guarded call needs a thread, and a graph with its checkpoints in the store of the ' +
      'ledger: compile the graph that you invoke with { checkpointer: new CounterfoilSaver(cf) ' +
      '}, with the cf that guard() has, and pass { configurable: { thread_id } }. Nothing was sent',
  }),
  GUARD_NOT_DURABLE: (tool: string, checkpointId: string) => ({
    message:
      `${tool} was not sent: the checkpoint ${checkpointId} that it follows from is not stored, ` +
      "so a crash would lose the way back to it. With `durability: 'exit'` it never is: use " +
      "'sync' or 'async'",
    retryable: true,
    details: { tool, checkpointId },
  }),
  /** `remedy`: what to do instead. */
  GUARD_RETRIED: (
    tool: string,
    space: string,
    { why, remedy }: Record<'why' | 'remedy', string>,
  ) => ({
    message: `${tool} was not sent: ${why}, and what it has sent would be sent again. ${remedy}`,
    details: { tool, space },
  }),
  /** `what`: what stood in the way, and what was not done for it. */
  THREAD_BUSY: (what: string, details: Record<string, unknown> = {}) => ({
    message: `${what}; retry`,
    retryable: true,
    details,
  }),
  THREAD_MOVED: (tool: string, threadId: string) => ({
    message:
      `${tool} was not sent: another request has gone on with thread ${threadId} meanwhile, and ` +
      'this one was set aside. Read the state of the thread again (graph.getState), and go on ' +
      'from there',
    details: { tool, threadId },
  }),
  THREAD_CONFIG_INVALID: inWords,
  THREAD_DAMAGED: (what: string, why: string, cause?: unknown) => ({
    message:
      `${what} cannot be used: ${why}. Nothing was changed, and the thread does not start again: ` +
      'go on from an earlier checkpoint_id, or restore the database',
    details: { what, why },
    cause,
  }),
  /** `undone`: what was not done for it. */
  THREAD_NEWER: (
    what: string,
    form: { name: string; version: unknown; known: number },
    undone: string,
  ) => ({
    message:
      `${what} has ${form.name} ${JSON.stringify(form.version)}, and this Counterfoil knows ` +
      `${form.name}s up to ${form.known}: upgrade it. Nothing was ${undone}`,
    details: { what, version: form.version },
  }),
  SAVER_OPTIONS: (what: string) => ({ message: `CounterfoilSaver: ${what}` }),
} as const satisfies Wordings

const aiSdk = {
  AGENT_INVALID: (why: string, details: Record<string, unknown> = {}) => ({
    message: `guardAgent: ${why}`,
    details,
  }),
  TOOLS_UNCLASSIFIED: (tools: readonly string[], lines: readonly string[]) => ({
    message: `say what a second call would do, in \`classes\`:\n${lines.join('\n')}`,
    details: { tools },
  }),
  REPLY_INVALID: (why: string) => ({ message: `a recorded reply cannot be replayed: ${why}` }),
  CHAT_REQUEST_INVALID: inWords,
} as const satisfies Wordings

export const adapterErrors = { ...langgraph, ...aiSdk } as const
