import { signal } from '@preact/signals'

/** Chosen for one decision about all of them, by item id. */
export const chosen = signal<ReadonlySet<string>>(new Set())

export function toggle(id: string): void {
  const next = new Set(chosen.value)
  if (!next.delete(id)) next.add(id)
  chosen.value = next
}
