// The port of a store whose large values lie elsewhere (src/blob): its rows hold their digests.
import type { Run } from '../../model/run/records.ts'

export interface BlobsPort {
  /** Which of these blobs some row refers to. */
  blobsInUse(digests: readonly string[]): Promise<ReadonlySet<string>>
  /** Runs are given out without a large output, so that polling reads none: this reads it. */
  readOutput(run: Run): Promise<string | null>
}
