// Where large texts stand in rows: taken out on the way to the store, put in on the way back. Above
// a store with blobs a row has its text or, where the text was left out or cannot be had, its
// digest; below it a large text is always a digest. Nothing is copied that stays as it is.
import type { CallRecord, Checkpoint, Evidence } from '../model/run/records.ts'
import type { Changes, Loaded, NewRun, RunChange, Sealed } from '../store/store.ts'

/** The digest that stands for a text in its row; null for a text that stays. */
export type Swap = (text: string) => string | null

/** The texts by digest; null for one that is missing or damaged. */
export type Texts = ReadonlyMap<string, string | null>

/** More bytes of UTF-8 than this. */
export function isLarge(text: string, bytesMin: number): boolean {
  // A code unit takes one to three bytes: most texts need not be counted.
  if (text.length > bytesMin) return true
  return text.length * 3 > bytesMin && Buffer.byteLength(text) > bytesMin
}

/** The changes as the inner store is given them; the same object if nothing is swapped. */
export function stripChanges(changes: Changes, swap: Swap): Changes {
  const next = { ...changes }
  if (changes.records) next.records = mapped(changes.records, (row) => stripResult(row, swap))
  if (changes.evidence) next.evidence = mapped(changes.evidence, (row) => stripEvidence(row, swap))
  if (changes.checkpoints) {
    next.checkpoints = mapped(changes.checkpoints, (row) => stripBody(row, swap))
  }
  if (changes.children) next.children = mapped(changes.children, (row) => stripNewRun(row, swap))
  if (changes.run) next.run = stripOutput(changes.run, swap)
  const keys = ['records', 'evidence', 'checkpoints', 'children', 'run'] as const
  return keys.every((key) => next[key] === changes[key]) ? changes : next
}

type WithResult = Pick<CallRecord, 'resultJson' | 'resultDigest'>

function stripResult<T extends WithResult>(row: T, swap: Swap): T {
  // Nothing, or a digest that comes back as it was given out.
  if (row.resultJson === null) return row
  const digest = swap(row.resultJson)
  if (digest !== null) return { ...row, resultJson: null, resultDigest: digest }
  return row.resultDigest === null ? row : { ...row, resultDigest: null }
}

export function stripBody(row: Checkpoint, swap: Swap): Checkpoint {
  const digest = row.bodyJson === '' ? null : swap(row.bodyJson)
  return digest === null ? row : { ...row, bodyJson: '', bodyDigest: digest }
}

/** The rows that a run begins with, a child's too. */
export function stripNewRun(made: NewRun, swap: Swap): NewRun {
  const run = stripOutput(made.run, swap)
  const checkpoint = made.checkpoint && stripBody(made.checkpoint, swap)
  return run === made.run && checkpoint === made.checkpoint ? made : { ...made, run, checkpoint }
}

/** An output comes with its digest, or with none: an earlier one's must not stay beside it. */
export function stripOutput<T extends Pick<RunChange, 'outputJson' | 'outputDigest'>>(
  run: T,
  swap: Swap,
): T {
  const { outputJson, outputDigest } = run
  if (outputJson === undefined) return run
  const digest = outputJson === null ? (outputDigest ?? null) : swap(outputJson)
  if (digest === null) return outputDigest === null ? run : { ...run, outputDigest: null }
  return { ...run, outputJson: null, outputDigest: digest }
}

// Evidence is put again with its seq and must else be what it was, also if it was written under
// another threshold. The mark outlives a spread, and nothing else sees it.
const asStored = Symbol('the form in the store')

interface Marked {
  readonly [asStored]?: { readonly text: string; readonly digest: string | null }
}

function stripEvidence(row: Evidence & Marked, swap: Swap): Evidence {
  const mark = row[asStored]
  if (mark === undefined) return stripResult(row, swap)
  const { [asStored]: _, ...plain } = row
  if (mark.text !== row.resultJson) return stripResult(plain, swap)
  const resultJson = mark.digest === null ? mark.text : null
  return { ...plain, resultJson, resultDigest: mark.digest }
}

/** Evidence whose form the present threshold would not give again remembers it. */
function marked<T extends Evidence>(row: T, digest: string | null, bytesMin: number): T {
  const text = row.resultJson
  if (text === null || isLarge(text, bytesMin) === (digest !== null)) return row
  return { ...row, [asStored]: { text, digest } }
}

/** A run as `amend` shows it: without texts, but what is written back stays what it was. */
export function markLoaded(loaded: Loaded, bytesMin: number): Loaded {
  const evidence = mapped(loaded.evidence, (row) => marked(row, row.resultDigest, bytesMin))
  return evidence === loaded.evidence ? loaded : { ...loaded, evidence }
}

export function digestsOf(loaded: Loaded): Set<string> {
  const digests = new Set<string>()
  for (const { resultDigest } of loaded.records) if (resultDigest) digests.add(resultDigest)
  for (const { resultDigest } of loaded.evidence) if (resultDigest) digests.add(resultDigest)
  for (const { bodyDigest } of loaded.checkpoints) if (bodyDigest) digests.add(bodyDigest)
  return digests
}

export function fillLoaded(loaded: Loaded, texts: Texts, bytesMin: number): Loaded {
  return {
    ...loaded,
    checkpoints: mapped(loaded.checkpoints, (row) => fillBody(row, texts)),
    records: mapped(loaded.records, (row) => fillResult(row, texts)),
    evidence: mapped(loaded.evidence, (row) =>
      marked(fillResult(row, texts), row.resultDigest, bytesMin),
    ),
  }
}

/** A result that cannot be had makes its row one that does not verify: never a wrong result. */
function fillResult<T extends Sealed<WithResult>>(row: T, texts: Texts): T {
  if (row.resultDigest === null) return row
  const text = texts.get(row.resultDigest) ?? null
  if (text === null) return { ...row, resultJson: null, verifies: false }
  return { ...row, resultJson: text, resultDigest: null }
}

/** A body that cannot be had stays empty: its digest then cannot verify. */
export function fillBody(row: Checkpoint, texts: Texts): Checkpoint {
  if (row.bodyDigest === null) return row
  const text = texts.get(row.bodyDigest) ?? null
  return text === null ? { ...row, bodyJson: '' } : { ...row, bodyJson: text, bodyDigest: null }
}

/** The same array if every row stays the same. */
export function mapped<R extends readonly unknown[]>(
  rows: R,
  one: (row: R[number]) => R[number],
): R {
  let next: unknown[] | null = null
  rows.forEach((row, i) => {
    const changed = one(row)
    if (changed === row) return
    next ??= [...rows]
    next[i] = changed
  })
  return (next ?? rows) as unknown as R
}
