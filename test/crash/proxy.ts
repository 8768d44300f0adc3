// A proxy before a Postgres server that knows where a statement begins and where its answer ends.
// It cuts the line before a commit goes up, or when it has been answered and before the answer
// comes down; swallows bytes without a word (a black hole); and makes them slow.
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

/** What the server has said to a statement: its tag, and the values of its first row. */
export interface Answer {
  tag: string
  row: (string | null)[]
}

export interface Fault {
  /** `before` the statement goes up; `after` it was answered, which nobody hears. */
  side: 'before' | 'after'
  /** `cut` resets the line; `hole` leaves it open and swallows whatever comes. */
  how: 'cut' | 'hole'
  /** Which statement, by its text. */
  at: (text: string) => boolean
  /** The n-th that fits, and how many in a row. */
  nth?: number
  times?: number
  /** Only an answer like this is kept back; others pass and do not count. */
  when?: (answer: Answer) => boolean
}

export interface Done {
  text: string
  side: Fault['side']
  how: Fault['how']
  answer: Answer | null
}

/** Statements that commit something by themselves, and the end of a longer transaction. */
export const isCommit = (text: string) =>
  /\.(commit_one|commit_batch|start_runs?)\(/.test(text) || text === 'commit'
export const isClaim = (text: string) => /\.claim_runs\(/.test(text)
export const isWake = (text: string) => /\.wake_due\(/.test(text)

export class PostgresProxy {
  /** Faults that have happened, with what the server had said. */
  readonly done: Done[] = []
  /** Statements that went up and whose answer never came, because the server's end is gone. */
  unanswered = 0
  delayMs = 0
  /** Told of every statement when all of it has gone up. */
  onSent: (text: string) => void = () => {}
  private readonly server: Server
  private readonly lines = new Set<Line>()
  private fault: (Fault & { seen: number }) | null = null
  private holed = false
  readonly target: number

  private constructor(target: number) {
    this.target = target
    // In a hole not even a goodbye is answered.
    this.server = createServer({ allowHalfOpen: true }, (client) => {
      const line = new Line(this, client)
      this.lines.add(line)
      client.once('close', () => this.lines.delete(line))
    })
  }

  static async open(target: number): Promise<PostgresProxy> {
    const proxy = new PostgresProxy(target)
    proxy.server.listen(0, '127.0.0.1')
    await once(proxy.server, 'listening')
    return proxy
  }

  /** The same URL, through here. */
  through(url: string): string {
    const through = new URL(url)
    through.port = String((this.server.address() as AddressInfo).port)
    return through.href
  }

  /** Null: no more. */
  plan(fault: Fault | null): void {
    this.fault = fault === null ? null : { ...fault, seen: 0 }
  }

  /** All lines, also new ones: nothing passes, nobody is told. Ended by false: they are reset. */
  swallow(on: boolean): void {
    this.holed = on
    if (!on) this.cutAll()
  }

  get swallows(): boolean {
    return this.holed
  }

  /** Lines whose client has not hung up. */
  get open(): number {
    return this.lines.size
  }

  cutAll(): void {
    for (const line of this.lines) line.end('cut')
  }

  /** Counts the statement, and says whether something is to happen to it. */
  take(text: string): Fault | null {
    const { fault } = this
    if (fault === null || !fault.at(text)) return null
    if (fault.when) return fault
    fault.seen++
    return this.isDue(fault) ? fault : null
  }

  /** The same once more, by its answer. */
  keeps(fault: Fault, answer: Answer): boolean {
    if (!fault.when) return true
    if (this.fault === null || !fault.when(answer)) return false
    this.fault.seen++
    return this.isDue(this.fault)
  }

  async close(): Promise<void> {
    this.cutAll()
    this.server.close()
    await once(this.server, 'close')
  }

  private isDue({ seen, nth = 1, times = 1 }: Fault & { seen: number }): boolean {
    return seen >= nth && seen < nth + times
  }
}

/** One connection: its messages, whole, in both directions. */
class Line {
  private readonly proxy: PostgresProxy
  private readonly client: Socket
  private readonly server: Socket
  private readonly up = new Messages(false)
  private readonly down = new Messages(true)
  private readonly named = new Map<string, string>()
  private text: string | null = null
  private fault: Fault | null = null
  private answer: Answer = { tag: '', row: [] }
  private held: Buffer[] = []
  private deaf = false
  private over = false

  constructor(proxy: PostgresProxy, client: Socket) {
    this.proxy = proxy
    this.client = client
    this.server = connect(proxy.target, '127.0.0.1')
    for (const socket of [client, this.server]) {
      socket.setNoDelay(true)
      socket.on('error', () => {})
    }
    client.on('data', (chunk) => this.later(() => this.fromClient(chunk)))
    this.server.on('data', (chunk) => this.later(() => this.fromServer(chunk)))
    client.on('end', () => this.later(() => this.goodbye()))
    client.on('close', () => this.later(() => this.server.destroy()))
    this.server.on('close', () => this.later(() => this.serverGone()))
  }

  end(how: Fault['how']): void {
    if (how === 'hole') {
      this.deaf = true
      return
    }
    this.over = true
    this.client.resetAndDestroy()
    this.server.destroy()
  }

  private later(fn: () => void): void {
    if (this.proxy.delayMs === 0) fn()
    else setTimeout(fn, this.proxy.delayMs)
  }

  private get isSilent(): boolean {
    return this.deaf || this.over || this.proxy.swallows
  }

  private goodbye(): void {
    if (this.isSilent) return
    this.server.end()
    this.client.end()
  }

  private serverGone(): void {
    if (this.text !== null && !this.over) this.proxy.unanswered++
    // A hole says nothing, not even that.
    if (!this.deaf && !this.proxy.swallows) this.client.destroy()
  }

  private fromClient(chunk: Buffer): void {
    if (this.isSilent) return
    const pass: Buffer[] = []
    let sent: string | null = null
    for (const { type, body, whole } of this.up.add(chunk)) {
      const text = this.statementOf(type, body)
      if (text !== null) {
        this.text = text
        this.fault = this.proxy.take(text)
        if (this.fault?.side === 'before' && !this.fault.when) {
          // What came before it goes up; nothing of it does.
          if (pass.length > 0) this.server.write(Buffer.concat(pass))
          return this.happen(this.fault, null)
        }
      }
      pass.push(whole)
      if (type === 'S' || type === 'Q') sent = this.text
    }
    if (pass.length > 0) this.server.write(Buffer.concat(pass))
    if (sent !== null) this.proxy.onSent(sent)
  }

  /** The text of a plain statement, or of one that is prepared, now or by its name before. */
  private statementOf(type: string, body: Buffer): string | null {
    if (type === 'Q') return body.toString('utf8', 0, body.length - 1)
    const first = body.indexOf(0)
    const second = body.toString('utf8', first + 1, body.indexOf(0, first + 1))
    if (type === 'P') {
      this.named.set(body.toString('utf8', 0, first), second)
      return second
    }
    return type === 'B' && this.text === null ? (this.named.get(second) ?? null) : null
  }

  private fromServer(chunk: Buffer): void {
    if (this.isSilent) return
    const pass: Buffer[] = []
    for (const { type, body, whole } of this.down.add(chunk)) {
      if (type === 'D' && this.answer.row.length === 0) this.answer.row = valuesOf(body)
      if (type === 'C' || type === 'E') this.answer.tag = body.toString('utf8', 0, body.length - 1)
      if (this.fault === null) pass.push(whole)
      else this.held.push(whole)
      if (type !== 'Z') continue
      const { fault, answer } = this
      this.answer = { tag: '', row: [] }
      this.fault = null
      if (fault !== null && this.proxy.keeps(fault, answer)) return this.happen(fault, answer)
      pass.push(...this.held)
      this.held = []
      this.text = null
    }
    if (pass.length > 0) this.client.write(Buffer.concat(pass))
  }

  private happen({ side, how }: Fault, answer: Answer | null): void {
    this.proxy.done.push({ text: this.text ?? '', side, how, answer })
    this.end(how)
  }
}

interface Message {
  type: string
  body: Buffer
  whole: Buffer
}

/** Puts chunks together to whole messages. The client's first one has no type. */
class Messages {
  private rest: Buffer = Buffer.alloc(0)
  private typed: boolean

  constructor(typed: boolean) {
    this.typed = typed
  }

  add(chunk: Buffer): Message[] {
    this.rest = this.rest.length === 0 ? chunk : Buffer.concat([this.rest, chunk])
    const messages: Message[] = []
    for (;;) {
      const head = this.typed ? 1 : 0
      if (this.rest.length < head + 4) return messages
      const end = head + this.rest.readInt32BE(head)
      if (this.rest.length < end) return messages
      const type = this.typed ? String.fromCharCode(this.rest[0] ?? 0) : ''
      const whole = this.rest.subarray(0, end)
      messages.push({ type, whole, body: whole.subarray(head + 4) })
      this.rest = this.rest.subarray(end)
      this.typed = true
    }
  }
}

function valuesOf(body: Buffer): (string | null)[] {
  const values: (string | null)[] = []
  let at = 2
  for (let n = body.readInt16BE(0); n > 0; n--) {
    const length = body.readInt32BE(at)
    at += 4
    values.push(length < 0 ? null : body.toString('utf8', at, at + length))
    at += Math.max(length, 0)
  }
  return values
}
