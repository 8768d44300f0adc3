// Errors about what is registered and what is called: graphs, tools, calls, values.
import { inWords, type Wordings } from './said.ts'

export const graphErrors = {
  /** `tool`: null where it has no name yet. */
  TOOL_INVALID: (tool: string | null, why: string, details: Record<string, unknown> = {}) =>
    tool === null
      ? { message: why, details }
      : { message: `tool "${tool}" ${why}`, details: { tool, ...details } },
  TOOL_UNDECLARED: (graph: string | undefined, tool: unknown, declared: readonly string[]) => ({
    message:
      `graph ${graph} calls ${JSON.stringify(tool)} without declaring it: ` +
      `add it to the graph's tools: [${[...declared, String(tool)].join(', ')}]`,
    details: { graph, tool },
  }),
  /** `graph`: null where it has no id yet. */
  GRAPH_INVALID: (graph: string | null, why: string, details: Record<string, unknown> = {}) =>
    graph === null
      ? { message: why, details }
      : { message: `graph "${graph}" ${why}`, details: { graph, ...details } },
  /** `graph`: null where none was named. */
  GRAPH_UNKNOWN: (graph: string | null, where: string, hint?: string) => ({
    message:
      `${graph === null ? 'no graph' : `graph ${graph}`} ${where}` +
      (hint === undefined ? '' : `; ${hint}`),
    details: { graph },
  }),
  GRAPH_CHANGED: (graph: string, differences: readonly string[]) => ({
    message:
      `this store knows graph ${graph} with other content: ${differences.join('; ')}. Runs stay ` +
      'on the version they began with: give the changed graph a new version',
    details: { graph, differences },
  }),
  INPUT_INVALID: inWords,
  OUTPUT_INVALID: inWords,
  DEFER_INVALID: (tool: string, why: string) => ({
    message: `${tool} ${why}`,
    details: { tool },
  }),
  CALLBACK_UNKNOWN: () => ({ message: 'no call waits for a callback with this token' }),
  KEY_UNSTABLE: (tool: string, why: string, details: Record<string, unknown> = {}) => ({
    message: `${tool}: idempotencyKey ${why}`,
    details: { tool, ...details },
  }),
  GATE_INVALID: inWords,
  GATE_FAILED: (tool: string, why: string, cause: unknown) => ({
    message: `the gate threw about ${tool}, so nothing was sent: ${why}`,
    details: { tool },
    cause,
  }),
} as const satisfies Wordings
