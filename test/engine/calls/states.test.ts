// The states of a call, and what is under way in a visit: the rules alone, without a run.
import { expect, test } from 'vitest'
import { IssuedCall } from '../../../src/engine/call/call.ts'
import { type CallState, holdsOf, isOver, legalMoves } from '../../../src/engine/call/states.ts'
import { Holds } from '../../../src/engine/visit/under-way.ts'
import { makeTool } from '../../../src/model/tool/tool.ts'

const states = Object.keys(legalMoves) as CallState[]

/** A call that has come to this state by legal moves. */
function callIn(state: CallState): IssuedCall {
  const tool = makeTool('t', { replayClass: 'pure', run: () => {} })
  const call = new IssuedCall(tool, { tool: 't', nth: 0 }, 0, null, {})
  for (const to of wayTo(state)) call.move(to)
  return call
}

function wayTo(state: CallState): CallState[] {
  const ways = new Map<CallState, CallState[]>([['issued', []]])
  for (const [from, way] of ways) {
    for (const to of legalMoves[from]) if (!ways.has(to)) ways.set(to, [...way, to])
  }
  const way = ways.get(state)
  if (way === undefined) throw new Error(`nothing leads to ${state}`)
  return way
}

test.each(states)('I7 a call that is %s goes where the table says, and nowhere else', (from) => {
  for (const to of states) {
    const call = callIn(from)
    if (legalMoves[from].includes(to)) {
      call.move(to)
      expect(call.state).toBe(to)
    } else {
      expect(() => call.move(to)).toThrow(`internal error: call t is ${from}`)
      expect(call.state).toBe(from)
    }
  }
})

test('I7 an answered call does nothing else, and nothing is over that can still be sent', () => {
  expect(legalMoves.answered).toEqual([])
  expect(legalMoves.settled).toEqual(['answered'])
  const over = states.filter(isOver)
  expect(over).toEqual(['refused', 'following', 'asked', 'in_doubt', 'settled', 'answered'])
  expect(over.filter((state) => holdsOf[state])).toEqual([])
})

test('I1 a call is sent only from where its intent is durable, or where it has none', () => {
  const from = states.filter((state) => legalMoves[state].includes('sent'))
  // Those besides `writing` are for pure calls, whose one row is their receipt.
  expect(from).toEqual(['judged', 'checked', 'lined', 'writing', 'resting'])
})

test('I7 what is under way is let go once, however often it is released', () => {
  const holds = new Holds()
  let told = 0
  const releases = [1, 2].map(() => holds.hold('work', () => told++))
  holds.hold('rest', () => told++)
  expect([holds.count('work'), holds.count('rest'), holds.count('call')]).toEqual([2, 1, 0])
  releases[0]?.()
  releases[0]?.()
  expect([holds.count('work'), told]).toEqual([1, 1])
})
