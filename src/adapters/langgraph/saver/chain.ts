// Steps as rows: a whole document, or what changed since the parent's.
//
// Owns: what the body of a row says, and when a whole one is due. Does not own: where rows lie.
// Invariant: a change names the very form of the parent that it was made to (`on`), so it is never
// applied to anything else. A form keeps its name for good: when the row is made whole, and when
// the host puts the same checkpoint once more, which adds a form and leaves the earlier ones.
import { asidePrefix, isAside, type SpaceRef, type ThreadStep } from '../../../index.ts'
import { canonical } from '../../../model/json/canonical.ts'
import { applyDelta, costOf, diff } from '../../../model/run/delta.ts'
import { absorb, isSame, weightOf } from '../../../model/run/state.ts'
import type { Document } from './document.ts'
import { damaged, open, reading, seal, sumOf } from './envelope.ts'

export type Space = Omit<SpaceRef, 'namespace'>
export type Row = Omit<ThreadStep, 'namespace'>

interface Form {
  readonly link: string
  readonly document: Document
}

/** A step as it was read or written. */
export interface Step {
  readonly stepId: string
  readonly parentId: string | null
  /** From the first to the present one. */
  readonly forms: readonly [Form, ...Form[]]
  readonly link: string
  readonly document: Document
  /** Of the whole document that its chain begins with, and of the changes since. */
  readonly wholeWeight: number
  readonly deltaWeight: number
}

/** A step and the sum of its row, as this process has seen it in the store. */
export interface SeenStep extends Step {
  readonly rowSum: string
}

interface Body {
  readonly whole?: Document
  readonly on?: string
  readonly delta?: unknown
  /** Of the first form, if it is not the sum of this body. */
  readonly link?: string
  /** Further forms, each a change to the one before. */
  readonly again?: readonly { readonly link: string; readonly delta: unknown }[]
}

interface Written {
  readonly step: Step
  readonly whole: boolean
  readonly bodyJson: string
}

// A chain lighter than this is left to grow: each of its rows weighs about as much around its body.
const chainWeightMin = 1_024

/** The steps of a chain as it was loaded, each after the one it is a change to. */
export function readChain(rows: readonly Row[]): Step[] {
  const steps: Step[] = []
  for (const row of rows) steps.push(readRow(row, steps.at(-1) ?? null))
  return steps
}

export function readRow(row: Row, parent: Step | null): Step {
  const { stepId, parentId } = row
  const what = nameOf(row)
  const { body, sum } = open(row.bodyJson, what)
  const { whole, on, delta, link = sum, again = [] } = body as Body
  return reading(what, () => {
    const base = whole === undefined ? formOf(parent, on) : null
    if (row.whole !== (base === null)) damaged(what, 'its row and its body differ in kind')
    const first = base === null ? whole : applyDelta(base.document, delta)
    const forms: [Form, ...Form[]] = [{ link, document: absorb(first) as Document }]
    for (const one of again) {
      const { document } = forms.at(-1) as Form
      forms.push({ link: one.link, document: applyDelta(document, one.delta) as Document })
    }
    const wholeWeight = parent === null || base === null ? weightOf(first) : parent.wholeWeight
    const deltaWeight = parent === null || base === null ? 0 : parent.deltaWeight + costOf(delta)
    return { stepId, parentId, forms, ...(forms.at(-1) as Form), wholeWeight, deltaWeight }
  })
}

/** Whether this is what is there already, so that it need not be put once more. */
export function isPut(
  { row, step }: { row: Row; step: Step },
  { parentId, noteJson }: Pick<Row, 'parentId' | 'noteJson'>,
  document: Document,
): boolean {
  if (row.parentId !== parentId || row.noteJson !== noteJson) return false
  return isSame(step.document, document)
}

/** The host's id of a step, whether it was set aside or not. */
export function idOf(stepId: string): string {
  return isAside(stepId) ? stepId.slice(asidePrefix.length) : stepId
}

export function nameOf({ threadId, space, stepId }: Space & { stepId: string }): string {
  const of = space === '' ? '' : ` in ${space}`
  return `checkpoint ${idOf(stepId)}${of} of thread ${threadId}`
}

function formOf(parent: Step | null, link: unknown): Form {
  const form = parent?.forms.find((one) => one.link === link)
  if (form === undefined) throw new Error('the step that it is a change to is missing')
  return form
}

/** The form of a step that a write of it was made to. */
export function documentAt(step: Step | null, link: unknown): Document {
  return formOf(step, link).document
}

/** As a change to the parent, unless those since the last whole document outweigh the state. */
export function writeStep(stepId: string, document: Document, parent: Step | null): Written {
  if (parent === null) return writeWhole(stepId, null, document)
  const delta = diff(parent.document, document)
  const deltaWeight = parent.deltaWeight + costOf(delta)
  const { wholeWeight, stepId: parentId } = parent
  const weight = weightOf(document)
  // What the state has grown by is in the changes and nowhere else: it is not there twice.
  const grown = Math.max(0, weight - wholeWeight)
  if (deltaWeight - grown > Math.max(weight, chainWeightMin)) {
    return writeWhole(stepId, parentId, document)
  }
  const { text, sum } = seal(canonical({ on: parent.link, delta }))
  const form = { link: sum, document }
  const step = { stepId, parentId, forms: [form] as const, ...form, wholeWeight, deltaWeight }
  return { step: step as unknown as Step, whole: false, bodyJson: text }
}

export function writeWhole(stepId: string, parentId: string | null, document: Document): Written {
  const { text, sum } = seal(canonical({ whole: document }))
  const form: Form = { link: sum, document }
  const wholeWeight = weightOf(document)
  const step: Step = { stepId, parentId, forms: [form], ...form, wholeWeight, deltaWeight: 0 }
  return { step, whole: true, bodyJson: text }
}

/** The same step as a whole one, with all its forms. */
export function wholeBody({ forms }: Step): string {
  const [first, ...later] = forms
  let { document } = first
  const again = later.map((form) => {
    const delta = diff(document, form.document)
    document = form.document
    return { link: form.link, delta }
  })
  const body = { whole: first.document, link: first.link }
  return seal(canonical(again.length === 0 ? body : { ...body, again })).text
}

/** One form more, since the host has put it again. Children keep what they are changes to. */
export function writeAgain(step: Step, parentId: string | null, document: Document): Written {
  const delta = diff(step.document, document)
  const form: Form = { link: sumOf(step.link + canonical(delta)), document }
  const forms = [...step.forms, form] as unknown as Step['forms']
  const wholeWeight = weightOf(step.forms[0].document)
  const next: Step = { ...step, parentId, forms, ...form, wholeWeight, deltaWeight: 0 }
  return { step: next, whole: true, bodyJson: wholeBody(next) }
}
