// The keyboard: rows are walked with j and k, and every page is two keys away.
import { signal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { go } from './route.tsx'

export const helping = signal(false)

const pages: Readonly<Record<string, string>> = {
  ...{ i: '/', r: '/runs', t: '/tools', v: '/versions', w: '/workers', h: '/health', d: '/resume' },
}

const keys: readonly (readonly [keys: string, what: string])[] = [
  ['j / k', 'next and previous row'],
  ['Enter', 'open the row'],
  ['x', 'choose the row, for a decision about many'],
  ['/', 'search'],
  ['g then i', 'inbox'],
  ['g then r', 'runs'],
  ['g then t, v, w, h', 'tools, versions, workers, health'],
  ['g then d', 'how a resume is decided'],
  ['u', 'back to the list'],
  ['?', 'this help'],
]

let going = false

export function onKey(event: KeyboardEvent): void {
  if (event.metaKey || event.ctrlKey || event.altKey || isTyping(event.target)) return
  const { key } = event
  if (going) {
    going = false
    const page = pages[key]
    if (page !== undefined) go(page)
    return
  }
  if (key === 'g') going = true
  else if (key === '?') helping.value = true
  else if (key === 'j' || key === 'k') step(key === 'j' ? 1 : -1)
  else if (key === 'x') rowNow()?.querySelector<HTMLInputElement>('input[type=checkbox]')?.click()
  else if (key === 'u') go(location.pathname.startsWith('/runs/') ? '/runs' : '/')
  else if (key === '/') {
    const field = document.querySelector<HTMLInputElement>('[data-search]')
    if (field === null) return
    field.focus()
  } else return
  event.preventDefault()
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && target.matches('input:not([type=checkbox]), textarea, select')
  )
}

function rowNow(): HTMLElement | null {
  return document.activeElement?.closest<HTMLElement>('[data-row]') ?? null
}

/** The row's link has the focus, so enter opens it without more ado. */
function step(by: number): void {
  const rows = [...document.querySelectorAll<HTMLElement>('[data-row]')]
  const at = rows.indexOf(rowNow() as HTMLElement)
  const next = rows[at === -1 ? (by > 0 ? 0 : rows.length - 1) : at + by]
  const link = next?.querySelector<HTMLElement>('a, summary')
  ;(link ?? next?.querySelector<HTMLElement>('button, input'))?.focus()
  next?.scrollIntoView({ block: 'nearest' })
}

export function Help() {
  const dialog = useRef<HTMLDialogElement>(null)
  const open = helping.value
  useEffect(() => {
    if (open) dialog.current?.showModal()
    else dialog.current?.close()
  }, [open])
  return (
    <dialog
      ref={dialog}
      aria-labelledby="help-title"
      onClose={() => {
        helping.value = false
      }}
    >
      <h2 id="help-title">Keys</h2>
      <dl class="fields">
        {keys.map(([name, what]) => (
          <div key={name}>
            <dt>
              <kbd>{name}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <form method="dialog">
        <button type="submit">Close</button>
      </form>
    </dialog>
  )
}
