// The browser's time, randomness and timers: nothing else in the console asks for them.
import { signal } from '@preact/signals'

/** The time, once a second: whatever shows a duration reads it. */
export const now = signal(Date.now())

setInterval(() => {
  now.value = Date.now()
}, 1_000)

export function later(ms: number, what: () => void): () => void {
  const timer = setTimeout(what, ms)
  return () => clearTimeout(timer)
}

/** Aborts by itself: nothing waits for ever. */
export function deadline(ms: number): AbortSignal {
  return AbortSignal.timeout(ms)
}

/** 128 bits in hex. randomUUID is missing where the page is not served from a secure origin. */
export function randomId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')
}
