// Which input an idempotency key of this run stands for: its upstream knows a key for one thing.
import { type CallRecord, sentHash } from '../../model/run/records.ts'

export class KeyBook {
  private readonly inputs = new Map<string, string>()

  note(record: CallRecord): void {
    const { tool, idempotencyKey } = record
    if (idempotencyKey !== null) this.inputs.set(placeOf(tool, idempotencyKey), sentHash(record))
  }

  /** False if the key stands for another input already. */
  take(tool: string, key: string, inputHash: string): boolean {
    const place = placeOf(tool, key)
    const known = this.inputs.get(place)
    if (known !== undefined && known !== inputHash) return false
    // From here on, not from its intent: a parallel call may ask before that is written.
    this.inputs.set(place, inputHash)
    return true
  }
}

function placeOf(tool: string, key: string): string {
  return `${tool}\n${key}`
}
