// What is too wide scrolls in a box of its own.
import type { ComponentChildren } from 'preact'

export function Scroll({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard can scroll only what has focus
    <section class="scroll" aria-label={label} tabIndex={0}>
      {children}
    </section>
  )
}
