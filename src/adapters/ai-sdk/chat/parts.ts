// Parts of the messages that a client shows.

/** A part of a UI message; only what is looked at here. */
export interface UiPart {
  readonly type?: string
  readonly state?: string
  readonly toolCallId?: string
  readonly preliminary?: boolean
  readonly providerExecuted?: boolean
  readonly approval?: { readonly approved?: boolean }
  readonly toolName?: string
  readonly input?: unknown
  readonly output?: unknown
  readonly errorText?: string
  readonly text?: string
  readonly data?: unknown
}

export function isCall({ type, providerExecuted }: UiPart): boolean {
  const tool = type?.startsWith('tool-') || type === 'dynamic-tool'
  return tool === true && providerExecuted !== true
}

export function isData({ type }: UiPart): boolean {
  return type?.startsWith('data-') === true
}

export function toolOf({ type = '', toolName }: UiPart): string {
  return toolName ?? type.slice('tool-'.length)
}

const ends = ['output-error', 'output-denied']

/** It has its answer. */
export function isEnded({ state = '', preliminary }: UiPart): boolean {
  return ends.includes(state) || (state === 'output-available' && preliminary !== true)
}

/** It has its answer, or may be made now. */
export function isOver(part: UiPart): boolean {
  return isEnded(part) || part.state === 'approval-responded'
}

export function textOf(parts: readonly UiPart[]): string {
  return parts.map(({ type, text = '' }) => (type === 'text' ? text : '')).join('')
}

/** The connection was lost in the middle of its words. */
export function isCutOff(parts: readonly UiPart[]): boolean {
  return parts.some(({ state }) => state === 'streaming')
}

/**
 * The parts of each step. Data that comes before the first step, such as what became of earlier
 * calls, belongs to no reply.
 */
export function stepsIn(parts: readonly UiPart[]): UiPart[][] {
  const before: UiPart[] = []
  const steps = [before]
  for (const part of parts) {
    if (part.type === 'step-start') steps.push([])
    else if (steps.length > 1 || !isData(part)) steps.at(-1)?.push(part)
  }
  return steps.filter((step) => step.length > 0)
}
