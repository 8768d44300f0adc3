// Errors of the command line: its words, the modules it loads, the demo.
import { inWords, type Wordings } from './said.ts'

export const cliErrors = {
  CLI_USAGE: inWords,
  MODULE_NOT_LOADED: (message: string, cause?: unknown) => ({ message, cause }),
  MODULE_WITHOUT_GRAPH: (path: string, exported: readonly string[], otherwise: string) => ({
    message:
      `${path} exports ${exported.join(', ') || 'nothing'}, and none of it was made by ` +
      "workflow(); write: export const outreach = workflow({ id: 'outreach@1.0.0', … })" +
      otherwise,
    details: { path },
  }),
  DEMO_FAILED: (what: string) => ({ message: what }),
  DEMO_FOLDER_USED: (folder: string, why: string) => ({
    message: `${folder} is not empty, and ${why}; name another with --data, or leave it out`,
    details: { folder },
  }),
  DEMO_PLUG: (why: string) => ({ message: `the plug cannot be pulled: ${why}` }),
} as const satisfies Wordings
