// What has just happened, for eyes and for screen readers.
import { signal } from '@preact/signals'
import { later } from './clock.ts'

const shownMs = 6_000
const said = signal<{ readonly id: number; readonly text: string } | null>(null)
let count = 0

export function say(text: string): void {
  const id = ++count
  said.value = { id, text }
  later(shownMs, () => {
    if (said.value?.id === id) said.value = null
  })
}

export function Said() {
  return (
    <div class="said" role="status" aria-live="polite">
      {said.value === null ? null : <p>{said.value.text}</p>}
    </div>
  )
}
