/** Which run: ids are unique within a namespace. */
export interface RunRef {
  readonly namespace: string
  readonly runId: string
}
