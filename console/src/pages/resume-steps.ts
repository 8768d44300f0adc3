// The six questions, and what each verdict means. Which question decided is read off the verdict
// itself, so that nothing here can differ from the engine.
import type { Known, Verdict } from '../../../src/model/replay/verdict.ts'
import type { Tone } from '../tone.ts'

export const steps: readonly { readonly asks: string; readonly tells: string }[] = [
  {
    asks: '1. Has a person decided?',
    tells: 'A decision is obeyed before anything else is looked at.',
  },
  {
    asks: '2. Is there a record of this call?',
    tells:
      'If not, it is the first time, unless records of the same visit stay unclaimed: then the ' +
      'input may have drifted, and nothing that is not pure is sent.',
  },
  {
    asks: '3. Does the record verify?',
    tells: 'Its MAC must be right. A record that somebody altered answers nothing.',
  },
  {
    asks: '4. How did it end?',
    tells:
      'A receipt is returned and nothing is dispatched. A certain failure is thrown again. What ' +
      'is before a person stays there.',
  },
  {
    asks: '5. Can it be known whether it happened?',
    tells:
      'Something is still to call back; or no attempt can have landed; or the upstream is asked ' +
      '(probe), and says yes.',
  },
  {
    asks: '6. Is it safe to send once more?',
    tells:
      'With a key that the upstream still remembers it is. Without one nobody can know: a person ' +
      'is asked, and nothing is sent.',
  },
]

/** The place of the question that decided, from 0. */
export function stepOf(known: Known, said: Verdict): number {
  if (said.do === 'obey') return 0
  if (known.record === null) return 1
  if (said.do === 'doubt') return said.reason === 'tampered' ? 2 : 5
  if (['return', 'throw', 'stay_parked'].includes(said.do)) return 3
  return said.do === 'resend' ? 5 : 4
}

export const endings: Readonly<Record<Verdict['do'], { text: string; tone: Tone }>> = {
  obey: { text: 'What the person said is done.', tone: 'good' },
  return: { text: 'The recorded result is returned. Nothing is dispatched.', tone: 'good' },
  throw: { text: 'The recorded error is thrown again. Nothing is dispatched.', tone: 'good' },
  copy: { text: 'The receipt of the same call answers. Nothing is dispatched.', tone: 'good' },
  stay_parked: { text: 'It stays before the same person. There is no second item.', tone: 'wait' },
  wait_for_quiet: { text: 'It waits until nothing more can match.', tone: 'wait' },
  wait_for_callback: { text: 'It waits for its callback, until the deadline.', tone: 'wait' },
  probe: { text: 'The upstream is asked whether it landed.', tone: 'busy' },
  record_probe: { text: 'The upstream says it landed: that is the receipt.', tone: 'good' },
  dispatch: { text: 'It is dispatched: no earlier attempt can have landed.', tone: 'busy' },
  resend: {
    text: 'It is sent once more with the recorded key: the upstream sees one.',
    tone: 'busy',
  },
  doubt: { text: 'Nothing is sent. A person is asked.', tone: 'bad' },
}

/** An unsafe call was sent, and its worker killed before the answer was on record. */
export const firstKnown: Known = {
  replayClass: 'unsafe_on_replay',
  decided: false,
  record: {
    status: 'pending',
    verifies: true,
    unknownAttempts: 1,
    keyWindow: 'open',
    callback: 'none',
  },
  unmatched: false,
  quiet: false,
  unresolved: false,
  alike: 'none',
  probe: 'none',
}
