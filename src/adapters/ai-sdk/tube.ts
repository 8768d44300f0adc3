// A stream that is written by the one who asks a model, and read by whoever wants to. A reader that
// goes away stops nothing: what was asked for is paid for, and goes on record.
export class Tube<T> {
  readonly readable: ReadableStream<T>
  /** How much has been passed on. */
  count = 0
  private controller: ReadableStreamDefaultController<T> | null = null

  constructor(onCancel: () => void = () => {}) {
    this.readable = new ReadableStream<T>({
      start: (controller) => {
        this.controller = controller
      },
      cancel: () => {
        this.controller = null
        onCancel()
      },
    })
  }

  push(part: T): void {
    this.count++
    this.controller?.enqueue(part)
  }

  end(): void {
    this.controller?.close()
  }

  fail(error: unknown): void {
    this.controller?.error(error)
  }
}
