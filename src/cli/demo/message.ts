// What the demo's processes tell it, over Node's own channel between parent and child.

export type Message =
  | { readonly kind: 'listening' }
  | { readonly kind: 'accepted'; readonly messageId: string }
  | { readonly kind: 'ready'; readonly workerId: string }
  | { readonly kind: 'finished' }

export function tellDemo(message: Message): void {
  process.send?.(message)
}

// The demo may itself be killed, without a chance to end its children: nobody is left behind then.
process.on('disconnect', () => process.exit(0))
