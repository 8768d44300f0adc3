// Where we are: path and query of the address bar, as a signal. Filters live here and nowhere else,
// so that every view can be sent to a colleague.
import { computed, signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'

const here = signal(read())

function read(): URL {
  return new URL(location.href)
}

addEventListener('popstate', () => {
  here.value = read()
})

export const path = computed(() => here.value.pathname)
export const query = computed(() => here.value.searchParams)

/** The namespace one looks at goes along, wherever one goes. */
function kept(to: string): string {
  const namespace = query.value.get('namespace')
  if (namespace === null || to.includes('namespace=') || to.startsWith(`${path.value}?`)) return to
  return `${to}${to.includes('?') ? '&' : '?'}namespace=${encodeURIComponent(namespace)}`
}

export function go(wanted: string, options: { replace?: boolean } = {}): void {
  const to = kept(wanted)
  if (options.replace === true) history.replaceState(null, '', to)
  else history.pushState(null, '', to)
  const before = here.value.pathname
  here.value = read()
  if (before !== here.value.pathname) scrollTo(0, 0)
}

/** This page with other filters. A new filter begins at the first page. */
export function withQuery(changes: Readonly<Record<string, string | null>>): string {
  const next = new URLSearchParams(query.value)
  if (!('cursor' in changes)) next.delete('cursor')
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === '') next.delete(name)
    else next.set(name, value)
  }
  const text = next.toString()
  return text === '' ? path.value : `${path.value}?${text}`
}

export function param(name: string): string | null {
  return query.value.get(name)
}

interface LinkProps {
  readonly to: string
  readonly children: ComponentChildren
  readonly class?: string
  readonly current?: boolean
  readonly label?: string
}

export function Link({ to, children, class: name, current, label }: LinkProps) {
  return (
    <a
      href={kept(to)}
      class={name}
      aria-current={current === true ? 'page' : undefined}
      aria-label={label}
      onClick={(event) => {
        if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return
        event.preventDefault()
        go(to)
      }}
    >
      {children}
    </a>
  )
}
