// Every limit of the server, with its reason.

/** A body: inputs of runs and results of calls are documents, not files. */
export const bodyBytesMax = 1024 * 1024

/** A body that only says something: a reason, a comment, a name. */
export const smallBodyBytesMax = 64 * 1024

/** How deep JSON may be nested: deeper than anything people write, shallow for any stack. */
export const jsonDepthMax = 64

/** Keys and elements in one body. */
export const jsonValuesMax = 100_000

/** A URL with its query: longer ones are mistakes, or worse. */
export const urlLengthMax = 8_192
export const queryValueLengthMax = 1_024

/** All headers of a request; Node refuses more before we see them. */
export const headerBytesMax = 16 * 1024

/** Of a client that does not finish what it sends. */
export const headersTimeoutMs = 10_000
export const requestTimeoutMs = 30_000
/** How often Node looks for such clients: by default twice a minute, which makes 10 s up to 40. */
export const timeoutCheckMs = 1_000

/** An Idempotency-Key, and how long its answer is remembered. */
export const keyLengthMax = 255
export const answerKeepMs = 24 * 3_600_000
/** A request whose process died is forgotten after this, and may be made again. */
export const inFlightMs = 120_000
/** Larger answers are given, not remembered. */
export const answerBytesMax = 1024 * 1024

/** A session ends when it was not used for so long, and in any case after the longest. */
export const sessionIdleMs = 12 * 3_600_000
export const sessionMaxMs = 7 * 24 * 3_600_000
/** A session in use is written again at most this often. */
export const sessionTouchMs = 5 * 60_000

/** The printed URL logs in once, and within this. */
export const ticketMs = 60 * 60_000

/** The token that a server makes for itself. */
export const ownTokenMs = 30 * 24 * 3_600_000

/** Open streams of one server; each costs a socket and a look now and then. */
export const streamsMax = 256
export const streamBeatMs = 15_000
/** How often a stream looks for what other processes wrote. */
export const streamPollMs = 500
export const hintPollMs = 2_000
/** Events sent in one go before the client's window is asked for. */
export const streamPageMax = 200

/** Rows in one answer, for lists that are made whole. */
export const rowsMax = 1_000

/** A shutdown waits so long for requests under way. */
export const closeGraceMs = 5_000

/** More children than this are not counted. */
export const childrenCounted = 500
