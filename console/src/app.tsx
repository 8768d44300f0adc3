// The frame: who is signed in, where one can go, and the page that is asked for.
import { useEffect, useState } from 'preact/hooks'
import { askSession, type Problem, session, signOut } from './api.ts'
import { ItemPage } from './inbox/item-page.tsx'
import { InboxPage } from './inbox/list.tsx'
import { Help, helping, onKey } from './keys.tsx'
import { connection, listen } from './live.ts'
import { DemoPage } from './pages/demo.tsx'
import { HealthPage } from './pages/health.tsx'
import { ResumePage } from './pages/resume.tsx'
import { SignIn } from './pages/sign-in.tsx'
import { ToolsPage } from './pages/tools.tsx'
import { VersionsPage } from './pages/versions.tsx'
import { WorkersPage } from './pages/workers.tsx'
import { asProblem } from './resource.ts'
import { go, Link, param, path, withQuery } from './route.tsx'
import { RunsPage } from './runs/list.tsx'
import { RunPage } from './runs/run-page.tsx'
import { Said, say } from './say.tsx'
import { nextTheme, theme } from './theme.ts'
import { Boundary } from './ui/boundary.tsx'
import { Empty, Failure } from './ui/parts.tsx'

const places: readonly (readonly [to: string, name: string])[] = [
  ['/', 'Inbox'],
  ['/runs', 'Runs'],
  ['/tools', 'Tools'],
  ['/versions', 'Versions'],
  ['/workers', 'Workers'],
  ['/health', 'Health'],
  ['/resume', 'How a resume is decided'],
]

/** The demo comes first where there is one: it is what was asked for. */
function placesNow(): typeof places {
  return session.value?.demo ? [['/demo', 'Demo'], ...places] : places
}

export function App() {
  const [problem, setProblem] = useState<Problem | null>(null)
  const ask = () => {
    setProblem(null)
    askSession().catch((error) => setProblem(asProblem(error)))
  }
  useEffect(ask, [])
  const who = session.value
  if (who === undefined) return <Asking problem={problem} ask={ask} />
  return who === null ? <SignIn /> : <Frame />
}

function Asking({ problem, ask }: { problem: Problem | null; ask: () => void }) {
  return (
    <main class="narrow">
      <h1>Counterfoil</h1>
      {problem === null ? (
        <p class="dim">Asking the server who you are…</p>
      ) : (
        <Failure problem={problem} retry={ask} />
      )}
    </main>
  )
}

function Frame() {
  useEffect(() => {
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [])
  const namespace = param('namespace')
  // Another namespace has another stream.
  useEffect(listen, [namespace])
  return (
    <>
      <a class="skip" href="#main">
        Skip to the page
      </a>
      <Top />
      <main id="main" tabIndex={-1}>
        <Boundary key={path.value}>
          <Page />
        </Boundary>
      </main>
      <Foot />
      <Said />
      <Help />
    </>
  )
}

function Top() {
  return (
    <header class="top">
      <Link to="/" class="brand">
        Counterfoil
      </Link>
      <nav aria-label="Pages">
        <ul>
          {placesNow().map(([to, name]) => (
            <li key={to}>
              <Link to={to} current={isAt(to)}>
                {name}
              </Link>
            </li>
          ))}
        </ul>
      </nav>
    </header>
  )
}

function isAt(to: string): boolean {
  const at = path.value
  if (to === '/') return at === '/' || at.startsWith('/inbox')
  return at === to || at.startsWith(`${to}/`)
}

const live = { connecting: 'connecting', live: 'live', lost: 'connection lost, trying again' }

function Foot() {
  const who = session.value
  if (!who) return null
  const leave = () => signOut().catch((error) => say(`Not signed out: ${asProblem(error).message}`))
  return (
    <footer class="foot">
      <span class={`stream ${connection.value}`} role="status">
        {live[connection.value]}
      </span>
      <span>{`${who.name} (${who.role})`}</span>
      {who.every_namespace ? <Namespace /> : <span>{`namespace ${who.namespace}`}</span>}
      <span class="dim">{`${who.version} · ${who.store}`}</span>
      <button type="button" class="small" onClick={nextTheme}>{`Theme: ${theme.value}`}</button>
      <button
        type="button"
        class="small"
        onClick={() => {
          helping.value = true
        }}
      >
        Keys (?)
      </button>
      <button type="button" class="small" onClick={leave}>
        Sign out
      </button>
    </footer>
  )
}

function Namespace() {
  const said = param('namespace') ?? ''
  return (
    <form
      class="inline"
      onSubmit={(event) => {
        event.preventDefault()
        const field = event.currentTarget.elements.namedItem('namespace') as HTMLInputElement
        go(withQuery({ namespace: field.value.trim() }))
      }}
    >
      <label>
        namespace{' '}
        <input key={said} name="namespace" defaultValue={said} placeholder="default" size={10} />
      </label>
    </form>
  )
}

function Page() {
  const [, first = '', second] = path.value.split('/').map(decoded)
  useEffect(() => {
    const place = placesNow().find(([to]) => isAt(to))
    document.title = [second, place?.[1], 'Counterfoil'].filter(Boolean).join(' · ')
  }, [first, second])
  if (first === '' || first === 'inbox') {
    return second === undefined ? <InboxPage /> : <ItemPage key={second} id={second} />
  }
  if (first === 'runs') {
    return second === undefined ? <RunsPage /> : <RunPage key={second} id={second} />
  }
  if (first === 'tools') return <ToolsPage />
  if (first === 'versions') return <VersionsPage />
  if (first === 'workers') return <WorkersPage />
  if (first === 'health') return <HealthPage />
  if (first === 'resume') return <ResumePage />
  if (first === 'demo' && session.value?.demo) return <DemoPage />
  return (
    <Empty title="There is no page here.">
      <p>
        <Link to="/">To the inbox</Link>
      </p>
    </Empty>
  )
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
