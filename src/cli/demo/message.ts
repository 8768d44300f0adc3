// What the demo's processes tell it, over Node's own channel between parent and child.

export type Message =
  | { readonly kind: 'listening' }
  | { readonly kind: 'accepted'; readonly messageId: string }
  | { readonly kind: 'ready'; readonly workerId: string }
  | { readonly kind: 'finished' }
  | { readonly kind: 'open'; readonly env: Readonly<Record<string, string>> }
  | { readonly kind: 'effect'; readonly effect: Effect }

/** Something that an upstream has done, whoever asked for it. */
export interface Effect {
  readonly agent: 'onboarding' | 'trip' | 'outreach'
  readonly service: string
  readonly run: string
  /** What it is one of: the same of one run a second time is a duplicate. */
  readonly what: string
  /** What the upstream answers with: a person who looks there can see it. */
  readonly result: unknown
  readonly at: number
}

export function tellDemo(message: Message): void {
  process.send?.(message)
}

// The demo may itself be killed, without a chance to end its children: nobody is left behind then.
process.on('disconnect', () => process.exit(0))
