// Every limit and default, with its reason.

/**
 * Waiting this long without a new call or a delivery means that nothing more can match (DESIGN §3).
 */
export const settleMs = 250

/** A pure receipt waits at most this long for company before it is written (B5). */
export const pureFlushMs = 10
/** A pure call that took longer, or cost anything, is not paid again for want of a write (D12). */
export const dearMs = 20

/** A tool that does not say answers within this, or its outcome is unknown. */
export const timeoutMs = 30_000

/**
 * Bytes outlive their sender: nobody may say "it did not happen" sooner than this after the end
 * (I5).
 */
export const quietFloorMs = 60_000

/** A probe asks one upstream one question; longer than this it is as good as no answer. */
export const probeTimeoutMs = 10_000

/** Attempts of one call while a worker holds its run, the first included. */
export const attemptMax = 3

/** Asking a child to stop is a write of our own: tried for hours before a person is asked. */
export const cancelAttemptMax = 1_000

/** First and longest wait between attempts; jitter halves at most. */
export const backoffMs = 200
export const backoffMaxMs = 10_000

/** How long a lease lives without renewal; renewed three times within it. */
export const leaseMs = 15_000

/**
 * How long a lease is renewed for an event loop that does not turn: more than any sensible piece of
 * work needs, and little enough that a process that hangs does not keep its runs for ever.
 */
export const blockedMsMax = 5 * 60_000

/** Names of tools, graphs, nodes, namespaces: short enough to index and to show in one column. */
export const nameLengthMax = 128

/** A run id: the user's own key (an order number, a message id), so longer than a name. */
export const runIdLengthMax = 256

/** An idempotency key: with its run's id it has to fit into an index; upstreams take less. */
export const keyLengthMax = 512

/** The ids of a thread's step or write together: an index of Postgres takes 2,704 bytes a row. */
export const threadKeyBytesMax = 2_500

/** A worker looks for work this often when nobody wakes it. */
export const pollMs = 100

/** Rows in one page of a list, unless asked otherwise, and at the most. */
export const pageSize = 50
export const pageSizeMax = 500

/** Commits of different runs in one transaction; more only makes each of them wait. */
export const batchMax = 256

/** Fewer than these are not shared out over several transactions. */
export const batchMin = 8

/** Ids in a run's `waiting_for`: its row stays small however many branches wait. */
export const waitingItemsMax = 100

/** A text longer than this (UTF-8) lies in a blob, and its row holds the digest (B7). */
export const blobBytesMin = 65_536

/** Characters in the name and in the reason of whoever decides: they lie in small rows. */
export const saidLengthMax = 4_000

/** People who have to agree about one approval: more than that is an election. */
export const quorumMax = 100

/** Items in one bulk decision: each is a transaction of its own, and somebody waits for them. */
export const bulkMax = 200

/** Unclaimed records in one drift item: more than a person looks through; the rest comes after. */
export const unmatchedShownMax = 200

/** The longest sleep, wait for a signal or for a callback: ten years, in which clocks are kept. */
export const waitMsMax = 10 * 365 * 24 * 3_600_000

/** A wait shorter than this is waited for where it is: parking and waking cost more. */
export const parkMsMin = 250

/**
 * How deep data may nest that users give us to keep. Our own code would take any depth, but whoever
 * reads it (JSON.stringify, a schema, a browser) has a stack.
 */
export const depthMax = 500

/** Data of one signal, as JSON: they lie in the run's own rows. Larger ones belong elsewhere. */
export const signalBytesMax = 65_536

/** Signals that a run has not taken: a sender gone wild must not make its load endless. */
export const signalsMax = 10_000

/** Details of a heartbeat, as JSON: a place in a file, a percentage; not the file. */
export const beatLengthMax = 4_096

/** A heartbeat is written at most this often, however often a tool calls. */
export const beatMs = 1_000

/** How long a call may take that is heard of again and again, unless its tool says. */
export const heardTimeoutMs = 24 * 3_600_000

/** Claims of a run without progress before it is put before a person: its workers die of it. */
export const claimsMax = 10

/** Runs that one pass of the sweeper wakes, items it notes, and ended runs it takes from. */
export const wakeBatchMax = 500
export const overdueBatchMax = 100
export const retainBatchMax = 50

/** How often the sweeper looks where nothing is known to be due. */
export const sweepMs = 1_000

/** How often ended runs are looked through for what need not be kept any longer. */
export const retainEveryMs = 3_600_000

/** How long records of ended runs are kept (B6); the unsafe class never less than the floor. */
const dayMs = 24 * 3_600_000
export const retention = { pureMs: dayMs, keyedMs: 14 * dayMs, unsafeMs: 90 * dayMs }
export const retentionFloorMs = 14 * dayMs

/** How long a notice waits for somebody who tells people of it: older news is no news. */
export const noticeKeepMs = 7 * dayMs

/** Rows that metrics look at, the newest first: a look must not grow with the ledger. */
export const recentRowsMax = 20_000

/**
 * How long a call with a key that a dead process has left waits for its host, which can send it
 * again: then a person is told. A host that comes later still sends it.
 */
export const unaskedMs = 60_000

/** How long an item that is no approval may wait, unless its tool or its queue says (E10). */
export const itemSlaMs = 3_600_000

/** What a tool says of where to look: a link that browsers take, and a sentence or two. */
export const lookUrlLengthMax = 2_048
export const lookSayLengthMax = 500

/** JSON Schema and example of a result, kept in the item; larger ones are left out. */
export const answerLengthMax = 20_000
