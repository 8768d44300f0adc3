// A page that cannot be drawn says so, and leaves the others alone.
import { Component, type ComponentChildren } from 'preact'
import { asProblem } from '../resource.ts'
import { Failure } from './parts.tsx'

interface Props {
  readonly children: ComponentChildren
}

interface State {
  readonly error: unknown
}

export class Boundary extends Component<Props, State> {
  override state: State = { error: null }

  static override getDerivedStateFromError(error: unknown): State {
    return { error }
  }

  override render({ children }: Props, { error }: State) {
    if (error === null) return children
    // Reported as any error is that nobody has caught: it is ours.
    reportError(error)
    return <Failure problem={asProblem(error)} retry={() => this.setState({ error: null })} />
  }
}
