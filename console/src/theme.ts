// Light or dark: as the system says, unless told otherwise here.
import { effect, signal } from '@preact/signals'

export type Theme = 'system' | 'light' | 'dark'
const themes: readonly Theme[] = ['system', 'light', 'dark']

export const theme = signal<Theme>(stored())

function stored(): Theme {
  // Storage may be forbidden; then the system's choice is as good.
  try {
    const said = localStorage.getItem('theme') as Theme
    return themes.includes(said) ? said : 'system'
  } catch {
    return 'system'
  }
}

effect(() => {
  const { dataset } = document.documentElement
  if (theme.value === 'system') delete dataset['theme']
  else dataset['theme'] = theme.value
})

export function nextTheme(): void {
  const next = themes[(themes.indexOf(theme.value) + 1) % themes.length] ?? 'system'
  theme.value = next
  try {
    localStorage.setItem('theme', next)
  } catch {
    // It holds for this page.
  }
}
