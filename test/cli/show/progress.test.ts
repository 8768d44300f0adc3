import { describe, expect, test } from 'vitest'
import { createProgress } from '../../../src/cli/progress.ts'
import { manualClock } from '../../../src/testing/manual-clock.ts'

function lineOf(shown = true) {
  const clock = manualClock()
  const written: string[] = []
  const write = (text: string) => void written.push(text)
  const progress = createProgress({ shown, columns: 40, write }, clock)
  /** What a terminal shows of the line. */
  const visible = () => written.join('').split('\r\u001b[K').at(-1) ?? ''
  return { clock, progress, written, visible }
}

describe('progress', () => {
  test('comes after a second, tells the time, and is taken back', () => {
    const { clock, progress, written, visible } = lineOf()
    progress.begin('reading the store')
    clock.advance(999)
    expect(written).toEqual([])
    clock.advance(1)
    expect(visible()).toBe('1 s  reading the store')
    clock.advance(2_000)
    expect(visible()).toBe('3 s  reading the store')
    progress.end()
    expect(visible()).toBe('')
    const count = written.length
    clock.advance(10_000)
    expect(written).toHaveLength(count)
  })

  test('is drawn from work that never leaves its turn, and not for every word of it', () => {
    const { clock, progress, written, visible } = lineOf()
    progress.begin('a')
    // The clock moves and no timer comes: `say` has to draw by itself.
    const frozen = { ...clock, after: () => () => {} }
    const inTurn = createProgress(
      { shown: true, columns: 40, write: (t) => void written.push(t) },
      frozen,
    )
    inTurn.begin('b')
    progress.end()
    clock.advance(1_500)
    for (let row = 1; row <= 1_000; row++) inTurn.say(`${row} calls read`)
    expect(written).toHaveLength(1)
    expect(visible()).toBe('1 s  1 calls read')
    clock.advance(100)
    inTurn.say('1001 calls read')
    expect(visible()).toBe('1 s  1001 calls read')
  })

  test('makes room for what is printed, and comes back with the next word', () => {
    const { clock, progress, visible } = lineOf()
    progress.begin('waiting')
    clock.advance(1_000)
    progress.clear()
    expect(visible()).toBe('')
    clock.advance(200)
    progress.say('waiting on')
    expect(visible()).toBe('1 s  waiting on')
  })

  test('fits the terminal, and holds nothing that moves its cursor', () => {
    const { clock, progress, visible } = lineOf()
    progress.begin(`run ${'x'.repeat(80)}\u001b[2J`)
    clock.advance(1_000)
    expect(visible()).toHaveLength(39)
    progress.say('\u001b[2J')
    clock.advance(1_000)
    expect(visible()).toBe('2 s  \\u001b[2J')
  })

  test('is silent where nobody sees it', () => {
    const { clock, progress, written } = lineOf(false)
    progress.begin('a')
    clock.advance(5_000)
    progress.say('b')
    progress.end()
    expect(written).toEqual([])
  })
})
