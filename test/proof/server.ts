// A Postgres server that a layer shares, started when it is first needed; and what a fault of the
// fleet comes to as the outcome of a case.
import type { Reckoning } from '../crash/fleet.ts'
import { type PostgresServer, startPostgres } from '../postgres/server.ts'
import { nothing, type Outcome } from './layer.ts'

export class Server {
  private started: Promise<PostgresServer> | null = null

  get(): Promise<PostgresServer> {
    this.started ??= startPostgres()
    return this.started
  }

  async stop(): Promise<void> {
    const started = await this.started
    this.started = null
    await started?.stop()
  }
}

export function outcomeOf(found: Reckoning, kind: string): Outcome {
  const { injected, evidence, runs, effects, duplicates, lost, doubts, falseDoubts, wrong } = found
  return {
    ...{ ...nothing, injected, evidence, kind, runs, effects, duplicates, lost, wrong },
    ...{ surfaced: doubts, falseSurfaced: falseDoubts },
  }
}
