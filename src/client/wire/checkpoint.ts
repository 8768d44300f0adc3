// Checkpoints as they travel: by --json and by the API.
import type { CheckpointRow } from '../../store/store.ts'
import { iso } from './iso.ts'

export function checkpointJson(row: CheckpointRow) {
  return {
    generation: row.generation,
    visit: row.visit,
    node: row.node,
    version: row.version,
    schema_version: row.schemaVersion,
    kind: row.kind,
    base_visit: row.baseVisit,
    bytes: row.bytes,
    body_digest: row.bodyDigest,
    digest: row.digest,
    created_at: iso(row.createdAt),
  }
}
