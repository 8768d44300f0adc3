// The id of an attempt. In the ledger it is the attempt's place in its run and, behind `~`, its
// name: `0#1/send_email/3f9a…/0/1~k7dq…`. Places recur in other runs and stores, names do not:
// tools and people know an attempt by its name alone. An id from before there were names is one.
import { canonical, sha256 } from '../json/canonical.ts'

/**
 * Unique within the run, readable, and with the visit in front so that one range holds a visit's
 * attempts: `0#1/send_email/3f9a…/0/1`.
 */
export function attemptPlace(
  generation: number,
  visit: number,
  key: string,
  attempt: number,
): string {
  return `${generation}#${visit}/${key}/${attempt}`
}

/**
 * Made of the signed intent, whose span is drawn anew for every attempt: the same after a resume,
 * another in every other run, and in a copy of the store. 26 lowercase letters and digits: safe in
 * a header, a mail reference, a URL and a file name.
 */
export function attemptId(
  place: string,
  { namespace, runId, spanId }: { namespace: string; runId: string; spanId: string },
): string {
  return `${place}~${base32(sha256(canonical([namespace, runId, place, spanId])))}`
}

/** What tools, upstreams and people know the attempt by. */
export function attemptName(id: string): string {
  return id.slice(tailOf(id).index)
}

export function placeOfAttempt(id: string): string {
  const { index, named } = tailOf(id)
  return named ? id.slice(0, index - 1) : id
}

/** `generation#visit/tool/hash/occurrence`: the call within its run. */
export function callOfAttempt(id: string): string {
  return id.slice(0, id.lastIndexOf('/'))
}

/** The call of an attempt within its visit. */
export function callKeyOfAttempt(id: string): string {
  return id.slice(id.indexOf('/') + 1, id.lastIndexOf('/'))
}

/** Those that are about one call of a visit; another call with the same input is another. */
export function ofCall<T extends { readonly attemptId: string }>(
  rows: readonly T[],
  key: string,
): T[] {
  return rows.filter((row) => callKeyOfAttempt(row.attemptId) === key)
}

export function numberOfAttempt(id: string): number {
  return Number(placeOfAttempt(id).slice(id.lastIndexOf('/') + 1))
}

export function visitOfAttempt(id: string): { generation: number; visit: number } {
  const [generation, visit] = id.slice(0, id.indexOf('/')).split('#').map(Number)
  return { generation: generation ?? 0, visit: visit ?? 0 }
}

/** Where the name begins. A tool's own name may hold a `~`; what follows the number may not. */
function tailOf(id: string): { index: number; named: boolean } {
  const index = id.indexOf('~', id.lastIndexOf('/') + 1)
  return index < 0 ? { index: 0, named: false } : { index: index + 1, named: true }
}

const letters = 'abcdefghijklmnopqrstuvwxyz234567'
const nameLength = 26

/** Of a hex digit, by its character: this runs for every attempt. */
function digitOf(code: number): number {
  return code < 58 ? code - 48 : code - 87
}

function base32(hex: string): string {
  let text = ''
  let bits = 0
  let held = 0
  for (let i = 0; text.length < nameLength; i++) {
    held = ((held << 4) | digitOf(hex.charCodeAt(i))) & 0xff
    bits += 4
    if (bits < 5) continue
    bits -= 5
    text += letters.charAt((held >> bits) & 31)
  }
  return text
}
