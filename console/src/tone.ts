/** What a colour says: it only ever repeats a word. */
export type Tone = 'plain' | 'good' | 'busy' | 'wait' | 'bad'
