// Figures as Prometheus reads them.
import type { ServerContext } from './context.ts'
import { readFigures } from './figures.ts'

export async function metricsText(server: ServerContext, namespace: string): Promise<string> {
  const figures = await readFigures(server, namespace)
  const lines = Object.entries(figures.runs).map(
    ([state, count]) => `counterfoil_runs{state="${state}"} ${count}`,
  )
  return `${lines.join('\n')}\n`
}
