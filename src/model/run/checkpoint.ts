// The checkpoints of a run: a chain of rows whose digests each cover the one before. A base holds
// the whole state, a delta what changed since the row before it, so that bytes grow with what
// happens and not with what there is.
//
// Owns: what a row says, when a new base is due, and whether a chain can be believed. Does not own:
// where rows and large bodies lie, and what becomes of a run whose chain is damaged.

import { errorFor, isCounterfoilError } from '../errors.ts'
import { canonical, parseCanonical, sha256 } from '../json/canonical.ts'
import { costOf, diff, patched } from './delta.ts'
import type { Checkpoint, RunRef } from './records.ts'
import { absorb, weightOf } from './state.ts'

export const checkpointSchemaVersion = 2

/** Which rows are written after the first; `hybrid` (D10) unless told. */
export type CheckpointMode = 'hybrid' | 'full' | 'delta'

/** Where a checkpoint is made. */
export interface Place extends RunRef {
  readonly generation: number
  readonly visit: number
  readonly node: string
  readonly version: string
  readonly createdAt: number
}

/** What has to be known of a chain to write its next row. */
export interface ChainFacts {
  /** Of the last row, as is its digest. */
  readonly visit: number
  readonly digest: string
  /** The digest before that one; null for the first. */
  readonly previous: string | null
  readonly baseVisit: number
  /** Of the state in the base, and of the deltas since. */
  readonly baseWeight: number
  readonly deltaWeight: number
}

/** A state, absorbed, and the chain that it is the last of. */
export interface Chain {
  readonly state: unknown
  readonly facts: ChainFacts
}

export interface Written extends Chain {
  readonly row: Checkpoint
}

/** What the rows have to be of; a `Run` will do. */
export interface Expected extends Partial<Omit<Place, 'version' | 'createdAt'>> {
  readonly version: string
}

/** What the checkpoint of another visit of the run has to be of. */
export function expectedAt(run: RunRef & Pick<Place, 'generation' | 'version'>, visit: number) {
  const { namespace, runId, generation, version } = run
  return { namespace, runId, generation, version, visit }
}

export type ChainRead =
  | ({ readonly ok: true } & Chain)
  | {
      readonly ok: false
      readonly why: string
      /** Of the row that is not as it should be. */
      readonly visit: number
      /** The visits before it that were read and found good, newest first. */
      readonly good: readonly number[]
    }

// A chain lighter than this is left to grow: each of its rows weighs about as much around its body.
const chainWeightMin = 256

/** The checkpoint that a run begins with. */
export function firstCheckpoint(place: Omit<Place, 'visit'>, state: unknown): Written {
  return base({ ...place, visit: 1 }, absorb(state), null)
}

/** The checkpoint that follows. `state` shares with the last one whatever it did not change. */
export function nextCheckpoint(
  last: Chain,
  place: Place,
  state: unknown,
  mode: CheckpointMode = 'hybrid',
): Written {
  const { facts } = last
  if (place.visit <= facts.visit) {
    throw new Error(`visit ${place.visit} of run ${place.runId} cannot follow ${facts.visit}`)
  }
  const after = absorb(state)
  if (mode === 'full') return base(place, after, facts.digest)
  const delta = diff(last.state, after)
  const deltaWeight = facts.deltaWeight + costOf(delta)
  if (mode === 'hybrid') {
    const weight = weightOf(after)
    // What the state has grown by is in the deltas and nowhere else: it is not there twice.
    const grown = Math.max(0, weight - facts.baseWeight)
    if (deltaWeight - grown > Math.max(weight, chainWeightMin)) {
      return base(place, after, facts.digest)
    }
  }
  const { baseVisit, baseWeight, digest: previous } = facts
  const row = rowOf(place, { kind: 'delta', baseVisit, previous: null, body: delta }, previous)
  const { visit, digest } = row
  return {
    row,
    state: after,
    facts: { visit, digest, previous, baseVisit, baseWeight, deltaWeight },
  }
}

/** A base in the place of the last row of a chain, so that nothing before it is needed any more. */
export function rebase(chain: Chain, place: Omit<Place, 'visit'>): Written {
  const { visit, previous } = chain.facts
  return base({ ...place, visit }, chain.state, previous)
}

function base(place: Place, state: unknown, previous: string | null): Written {
  const baseVisit = place.visit
  const row = rowOf(place, { kind: 'base', baseVisit, previous, body: state }, previous)
  return { row, state, facts: baseFacts(row, state) }
}

function baseFacts({ visit, digest, previous }: Checkpoint, state: unknown): ChainFacts {
  const baseWeight = weightOf(state)
  return { visit, digest, previous, baseVisit: visit, baseWeight, deltaWeight: 0 }
}

function rowOf(
  place: Place,
  content: Pick<Checkpoint, 'kind' | 'baseVisit' | 'previous'> & { body: unknown },
  before: string | null,
): Checkpoint {
  const { namespace, runId, generation, visit, node, version, createdAt } = place
  const { kind, baseVisit, previous, body } = content
  const row = {
    namespace,
    runId,
    generation,
    visit,
    node,
    version,
    createdAt,
    schemaVersion: checkpointSchemaVersion,
    kind,
    baseVisit,
    previous,
    bodyJson: canonical(body),
    bodyDigest: null,
    digest: '',
  }
  return { ...row, digest: chained(row, before) }
}

// H(previous, this row). A digest has no bracket in it, so the two cannot run into each other.
function chained(row: Checkpoint, before: string | null): string {
  const { schemaVersion, namespace, runId, generation, visit } = row
  const { node, version, kind, baseVisit, bodyJson } = row
  const place = [schemaVersion, namespace, runId, generation, visit, node, version, kind]
  return sha256((before ?? '') + canonical([...place, baseVisit, bodyJson]), 'base64url')
}

interface Format {
  digest(row: Checkpoint, before: string | null): string
  /** The row as the next format has it; its digest stays, since the next row is chained to it. */
  upgrade(row: Checkpoint): Checkpoint
}

// By schema version, from 1 on. Rows are never rewritten: each is checked as it was written, then
// upgraded one format after the other. test/replay/checkpoints holds a chain of each, for ever.
const formats: readonly Format[] = [
  {
    digest: (row) => sha256(row.bodyJson),
    upgrade: (row) => ({
      ...row,
      schemaVersion: 2,
      kind: 'base',
      baseVisit: row.visit,
      previous: null,
    }),
  },
  { digest: chained, upgrade: (row) => row },
]

/**
 * The state that a chain ends with, if every row of it can be believed. It throws for nothing but a
 * row of a newer Counterfoil, which is not damaged and must be left alone.
 */
export function readChain(rows: readonly Checkpoint[], expected: Expected): ChainRead {
  const good: number[] = []
  let chain: Chain | null = null
  let visit = expected.visit ?? 0
  try {
    for (const row of rows) {
      visit = row.visit
      chain = readRow(chain, row, expected)
      good.push(visit)
    }
    visit = expected.visit ?? visit
    if (chain === null) damaged('there is none')
    checkEnd(chain, rows.at(-1), expected)
    return { ok: true, state: absorb(chain.state), facts: chain.facts }
  } catch (error) {
    if (isCounterfoilError(error, 'CHECKPOINT_NEWER')) throw error
    const why = error instanceof Error ? error.message : String(error)
    return { ok: false, why: `checkpoint of visit ${visit}: ${why}`, visit, good: good.reverse() }
  }
}

// The state in `chain` is a draft: the next row may change it in place.
function readRow(chain: Chain | null, row: Checkpoint, expected: Expected): Chain {
  const { schemaVersion, visit } = row
  const format = formats[schemaVersion - 1] ?? unknownFormat(row)
  checkPlace(chain, row, expected)
  if (typeof row.bodyJson !== 'string' || row.bodyJson === '') {
    const where = row.bodyDigest === null ? '' : ` (blob ${row.bodyDigest})`
    return damaged(`its body is missing${where}`)
  }
  const before = row.kind === 'delta' ? (chain?.facts.digest ?? null) : row.previous
  const { digest } = row
  if (digest !== format.digest(row, before)) damaged('its digest does not fit its content')
  const { kind, baseVisit, previous, bodyJson } = upgraded(row)
  const body = absorb(parseCanonical(bodyJson))
  if (kind === 'base') {
    if (baseVisit !== visit) damaged(`it is a base, and is said to build on visit ${baseVisit}`)
    if (chain !== null && previous !== chain.facts.digest) damaged('it follows another row')
    return { state: body, facts: baseFacts({ ...row, previous }, body) }
  }
  if (chain === null) return damaged('the base that it builds on is missing')
  const { facts } = chain
  if (baseVisit !== facts.baseVisit) damaged(`it builds on visit ${baseVisit}`)
  if (previous !== null) damaged('it is a delta, and is said to follow another row')
  const state = patched(chain.state, body)
  const deltaWeight = facts.deltaWeight + costOf(body)
  return { state, facts: { ...facts, visit, digest, previous: facts.digest, deltaWeight } }
}

function checkPlace(chain: Chain | null, row: Checkpoint, expected: Expected): void {
  if (row.version !== expected.version) {
    damaged(
      `it is of graph version ${row.version}, and the run of ${expected.version}; ` +
        'a checkpoint of another version is used only after a migration',
    )
  }
  if (!Number.isInteger(row.visit) || row.visit <= (chain?.facts.visit ?? 0)) {
    damaged('it is out of order')
  }
  for (const key of ['namespace', 'runId', 'generation'] as const) {
    const wanted = expected[key] ?? row[key]
    if (row[key] !== wanted) damaged(`its ${key} is ${row[key]} and not ${wanted}`)
  }
}

function checkEnd(chain: Chain, last: Checkpoint | undefined, expected: Expected): void {
  const { visit = chain.facts.visit, node = last?.node } = expected
  if (chain.facts.visit !== visit) damaged(`it is missing; the last is of ${chain.facts.visit}`)
  if (last?.node !== node) damaged(`it is of node ${last?.node}, and the run is at ${node}`)
}

function upgraded(row: Checkpoint): Checkpoint {
  return formats
    .slice(row.schemaVersion - 1, checkpointSchemaVersion - 1)
    .reduce((now, format) => format.upgrade(now), row)
}

function unknownFormat(row: Checkpoint): never {
  const { schemaVersion } = row
  if (!Number.isInteger(schemaVersion) || schemaVersion < 1) damaged('its format is unknown')
  throw errorFor('CHECKPOINT_NEWER', row, checkpointSchemaVersion)
}

function damaged(why: string): never {
  throw errorFor('CHECKPOINT_DAMAGED', why)
}
