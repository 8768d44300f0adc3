import './style/base.css'
import './style/controls.css'
import './style/parts.css'
import './style/runs.css'
import './style/pages.css'
import { render } from 'preact'
import { App } from './app.tsx'

render(<App />, document.getElementById('app') as HTMLElement)
