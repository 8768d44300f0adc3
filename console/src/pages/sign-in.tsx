import { useState } from 'preact/hooks'
import { type Problem, signIn } from '../api.ts'
import { asProblem } from '../resource.ts'
import { Command, Failure } from '../ui/parts.tsx'

export function SignIn() {
  const [problem, setProblem] = useState<Problem | null>(null)
  const [busy, setBusy] = useState(false)
  const submit = async (token: string) => {
    setBusy(true)
    setProblem(null)
    await signIn(token).catch((error) => setProblem(asProblem(error)))
    setBusy(false)
  }
  return (
    <main class="narrow">
      <h1>Counterfoil</h1>
      <p>Nobody is signed in. Open the address that the server printed, or give a token.</p>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          const field = event.currentTarget.elements.namedItem('token') as HTMLInputElement
          submit(field.value.trim())
        }}
      >
        <label class="field">
          <span>Token</span>
          <input
            name="token"
            type="password"
            autocomplete="current-password"
            required
            placeholder="cf_…"
            spellcheck={false}
          />
        </label>
        {problem === null ? null : <Failure problem={problem} />}
        <button type="submit" class="primary" disabled={busy}>
          {busy ? 'Signing in…' : 'Sign in'}
        </button>
      </form>
      <p class="dim">A token is made where the store is:</p>
      <Command text="counterfoil token create --name ana --role operator" />
    </main>
  )
}
