// Deliberate bugs of the protocol, each a small edit of one source file. None of them is in the
// product: a bundle or a test run is made with the edit, and at least two layers must see it.
//
// `fleet`: seeds of the fleet simulator. `programs`: seeds of random programs, by kind. `tests`:
// files of the ordinary suite; what they test names the layer. `model`: a variant of a model in
// test/models.

/**
 * @typedef {{
 *   name: string, file: string, find: string, replace: string, breaks: string,
 *   fleet?: number[], programs?: [kind: string, from: number, count: number],
 *   tests?: string[], model?: [name: string, ...flags: string[]],
 * }} Mutant
 */

/** @type {readonly Mutant[]} */
export const mutants = [
  {
    name: 'no-intent',
    file: 'src/engine/attempt/intent.ts',
    find: '  visit.append({ records: [record], attempts: [attempt] })\n',
    replace: '',
    breaks: 'I1: a call is sent without a record of it; after a crash it is sent again',
    fleet: [3],
    programs: ['plain', 1, 6],
    model: ['lease', 'NO_INTENT'],
  },
  {
    name: 'dispatch-before-intent',
    file: 'src/engine/attempt/intent.ts',
    find: '      () => go(send(visit, call, sending)),\n',
    replace: '      (go(send(visit, call, sending)), () => {}),\n',
    breaks: 'I1, I4: a receipt may be made before the intent is durable',
    fleet: [2],
    programs: ['plain', 1, 6],
    tests: ['test/engine/calls/ack.test.ts'],
  },
  {
    name: 'receipt-without-fence',
    file: 'src/store/rules/commit.ts',
    find: `  if (run === null || run.fence !== one.fence) return 'stale_fence'
  if (run.commitId === one.commitId) return 'done'
  if (run.workerId !== one.workerId || run.state !== 'running') return 'stale_fence'
`,
    replace: `  if (run === null) return 'stale_fence'
  if (run.commitId === one.commitId) return 'done'
`,
    breaks: 'I2: a former holder writes over the present one',
    fleet: [15],
    tests: ['test/store/memory.test.ts'],
    model: ['lease', 'NO_GUARD'],
  },
  {
    name: 'grant-not-consumed-atomically',
    file: 'src/engine/attempt/intent.ts',
    find: '  if (grant) visit.append({ decisions: [{ ...grant, usedBy: attempt.attemptId }] })\n',
    replace: `  if (grant) {
    visit.log.watch(
      () => visit.clock.after(1, () => {
        visit.append({ decisions: [{ ...grant, usedBy: attempt.attemptId }] })
        visit.log.flush()
      }),
      () => {},
    )
  }
`,
    breaks: 'I11: a grant is used by an attempt, and can be used by another after a crash',
    fleet: [147, 167],
    model: ['attempts', 'SPLIT_GRANT'],
  },
  {
    name: 'grant-not-voided',
    file: 'src/model/replay/evidence.ts',
    find: '    changes.decisions.push({ ...bare(grant), voidedAt: evidence.at })\n',
    replace: '',
    breaks: 'I11: what is known to have landed is sent again on an older word',
    tests: ['test/model/evidence.test.ts', 'test/engine/people/evidence.test.ts'],
    model: ['attempts', 'HASTY', 'NO_VOID'],
  },
  {
    name: 'drift-guard-off',
    file: 'src/model/replay/verdict.ts',
    find: '  if (known.unmatched) {\n',
    replace: '  if (known.unmatched && known.unresolved) {\n',
    breaks: 'a call that may be a recorded one with another input is sent',
    programs: ['version', 1, 8],
    tests: ['test/model/verdict.test.ts', 'test/engine/calls/drift.test.ts'],
  },
  {
    name: 'retry-before-the-end',
    file: 'src/model/replay/attempts.ts',
    find: '  return reported ?? death ?? Number.POSITIVE_INFINITY\n',
    replace: '  return reported ?? death ?? 0\n',
    breaks: 'I5: "it did not happen" counts while the attempt may still act',
    fleet: [12],
    tests: ['test/model/decide.test.ts', 'test/engine/people/evidence.test.ts'],
    model: ['attempts', 'NO_PROOF'],
  },
  {
    name: 'no-quiet-time',
    file: 'src/model/decisions/may-decide.ts',
    find: '    const at = attemptEnd(row, now.deaths) + row.quietMs\n',
    replace: '    const at = attemptEnd(row, now.deaths)\n',
    breaks: 'I5: "it did not happen" counts while bytes are on the wire',
    fleet: [8],
    tests: ['test/model/decide.test.ts'],
    model: ['attempts', 'NO_QUIET'],
  },
  {
    name: 'zombie-renews',
    file: 'src/worker/lease-memory.ts',
    find: '    if (micros(answeredMs) >= before) Atomics.add(this.cells, cell.epoch, 1n)\n',
    replace: '',
    breaks: 'D2: a worker that stood still past its lease takes up what others hold by now',
    fleet: [80],
    tests: ['test/worker/lease-memory.test.ts'],
  },
  {
    name: 'lease-unchecked',
    file: 'src/engine/attempt/send.ts',
    find: '  if (!visit.lease.holds()) {\n',
    replace: '  if (false as boolean) {\n',
    breaks: 'D2: a call is sent although somebody else may hold the run',
    fleet: [15],
    tests: ['test/worker/worker.test.ts'],
  },
  {
    name: 'commit-error-as-failure',
    file: 'src/engine/committer.ts',
    find: 'for (const log of logs) void this.writeAlone(log, logs.length === 1 ? error : null)\n',
    replace: '      for (const log of logs) log.lose(error)\n',
    breaks: 'I4: what may be durable is taken for not written',
    fleet: [18],
    tests: ['test/engine/calls/ack.test.ts'],
  },
  {
    name: 'commit-error-as-success',
    file: 'src/engine/committer.ts',
    find: 'for (const log of logs) void this.writeAlone(log, logs.length === 1 ? error : null)\n',
    replace: "      for (const log of logs) log.acknowledged('done')\n",
    breaks: 'I4: a call is sent whose intent may not be durable',
    fleet: [23],
    tests: ['test/engine/calls/ack.test.ts'],
  },
  {
    name: 'commit-written-twice',
    file: 'src/store/rules/commit.ts',
    find: "  if (run.commitId === one.commitId) return 'done'\n",
    replace: '',
    breaks: 'I4: the same commit again is a second write',
    // Calls are the same rows when they are written again; what else a commit holds is not.
    tests: ['test/store/memory.test.ts', 'test/store/sqlite/sqlite.test.ts'],
  },
  {
    name: 'retention-of-an-open-intent',
    file: 'src/store/memory/retention.ts',
    find: '    if (!goes(row) || isOpenCall(row)) continue\n',
    replace: '    if (!goes(row)) continue\n',
    breaks: 'B6: what nobody knows the outcome of is forgotten',
    tests: ['test/store/memory.test.ts', 'test/engine/stops/retention.test.ts'],
  },
  {
    name: 'checkpoint-before-receipts',
    file: 'src/engine/attempt/receipt.ts',
    find: '  visit.append({ records: [call.record], events: beatsOf(visit, call) })\n',
    replace: `  const late = { records: [call.record], events: beatsOf(visit, call) }
  visit.clock.after(5, () => {
    visit.append(late)
    visit.log.flush()
  })
`,
    breaks: 'I3: a checkpoint or an end is durable before the receipts it follows from',
    fleet: [2],
    tests: ['test/engine/graph/graph-kill.test.ts'],
  },
  {
    name: 'park-without-arrivals',
    file: 'src/engine/visit/leave.ts',
    find: `    { events: [moved(visit, parked.change.state, parked.why)], items: moot },
    run.arrivals,
`,
    replace: '    { events: [moved(visit, parked.change.state, parked.why)], items: moot },\n',
    breaks: 'I10: what arrives while the run parks wakes nobody',
    fleet: [12],
    tests: ['test/engine/stops/races.test.ts'],
    model: ['park', 'NO_ARRIVALS'],
  },
  {
    name: 'hits-out-of-order',
    file: 'src/engine/call/order.ts',
    find: `    while (at > 0 && (queue[at - 1] as Delivery).settled.seq > delivery.settled.seq) at--
`,
    replace: '',
    breaks: 'recorded results come in the order of the calls, not in that in which they were known',
    programs: ['plain', 15, 1],
    tests: ['test/engine/calls/order.test.ts'],
  },
  {
    name: 'certainty-by-last-attempt',
    file: 'src/engine/attempt/ended.ts',
    find: "  const certain = outcome !== 'unknown' && call.unknownBefore === 0\n",
    replace: "  const certain = outcome !== 'unknown'\n",
    breaks: 'G2: a refusal ends a call of which an earlier attempt may have landed',
    fleet: [147],
    tests: ['test/engine/errors.test.ts'],
    model: ['keyed', 'LAST_ATTEMPT'],
  },
  {
    name: 'evidence-by-key',
    file: 'src/model/replay/evidence.ts',
    find: '    const settles = landed || allCertain(now, evidence)\n',
    replace: "    const settles = landed || evidence.outcome !== 'unknown'\n",
    breaks: 'I11: what is learnt about one attempt settles the doubt about the others',
    tests: ['test/model/evidence.test.ts'],
    model: ['attempts', 'HASTY', 'BY_KEY'],
  },
  {
    name: 'unsafe-sent-again',
    file: 'src/model/replay/verdict.ts',
    find: "  if (known.replayClass === 'idempotent_with_key' && record.keyWindow === 'open') {\n",
    replace: "  if (record.keyWindow === 'open') {\n",
    breaks: 'an unsafe call without a receipt is sent again',
    fleet: [8],
    programs: ['plain', 1, 6],
    tests: ['test/model/verdict.test.ts'],
    model: ['lease', 'SENT_AGAIN'],
  },
]
