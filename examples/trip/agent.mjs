// The agent: seven steps, each with a turn of the model before it. `bookTrip` is written once and
// used twice: by Counterfoil, and by plain code that begins again from zero after a crash.
import { NotSentError, tool, workflow } from 'counterfoil'
import { z } from 'zod'

const hour = 3_600_000

/**
 * @param {string} service
 * @param {unknown} body
 * @param {Pick<import('counterfoil').CallInfo, 'runId'>} call
 * @param {Record<string, string>} more
 * @returns {Promise<unknown>}
 */
async function post(service, body, call, more = {}) {
  const url = `${process.env['TRIP_WORLD']}/${service}`
  const headers = { 'x-run': call.runId ?? '', ...more }
  try {
    const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
    return await response.json()
  } catch (error) {
    const { code } = Object(Object(error).cause)
    // Nobody listens there: nothing has left. Any other error leaves that open.
    if (code === 'ECONNREFUSED') throw new NotSentError(`${service} is away`)
    throw error
  }
}

/** @param {import('counterfoil').CallInfo} call */
const keyed = (call) => ({ 'idempotency-key': call.idempotencyKey ?? '' })

/** Dollars for a token in, a token out, and a search. */
const price = { in: 3 / 1e6, out: 15 / 1e6 }
export const searchUsd = 0.02
/** @param {{ tokensIn: number, tokensOut: number }} turn */
export const usdOf = ({ tokensIn, tokensOut }) => tokensIn * price.in + tokensOut * price.out

// A turn of the model: paid for once, read back afterwards.
const think = tool({
  name: 'think',
  replayClass: 'pure',
  beat: 'reason',
  input: z.object({ step: z.number(), goal: z.string() }),
  output: z.object({ tokensIn: z.number(), tokensOut: z.number(), say: z.string() }),
  run: (input, call) => post('model', input, call),
  usage: (turn) => ({ tokensIn: turn.tokensIn, tokensOut: turn.tokensOut, usd: usdOf(turn) }),
})

const searchFlights = tool({
  name: 'search_flights',
  replayClass: 'pure',
  input: z.object({ to: z.string() }),
  output: z.object({ offers: z.array(z.object({ flight: z.string(), usd: z.number() })) }),
  run: (input, call) => post('flights', input, call),
  usage: () => ({ usd: searchUsd }),
})

// An airline knows a hold by the agency's own reference, for a day.
const holdFlight = tool({
  name: 'hold_flight',
  replayClass: 'idempotent_with_key',
  idempotencyKey: ({ flight }, call) => `${call.runId}:${flight}`,
  keyTtlMs: 24 * hour,
  blastRadius: 'external',
  input: z.object({ flight: z.string() }),
  output: z.object({ hold: z.string() }),
  run: (input, call) => post('hold', input, call, keyed(call)),
  externalId: ({ hold }) => hold,
})

const bookHotel = tool({
  name: 'book_hotel',
  replayClass: 'idempotent_with_key',
  idempotencyKey: ({ nights }, call) => `${call.runId}:hotel:${nights}`,
  keyTtlMs: 24 * hour,
  blastRadius: 'external',
  input: z.object({ nights: z.number() }),
  output: z.object({ room: z.string(), usd: z.number() }),
  run: (input, call) => post('hotel', input, call, keyed(call)),
  externalId: ({ room }) => room,
})

const chargeCard = tool({
  name: 'charge_card',
  replayClass: 'idempotent_with_key',
  idempotencyKey: ({ invoice }) => invoice,
  keyTtlMs: 24 * hour,
  blastRadius: 'money',
  amount: ({ usd }) => usd,
  input: z.object({ invoice: z.string(), usd: z.number() }),
  output: z.object({ charge: z.string() }),
  run: (input, call) => post('charge', input, call, keyed(call)),
  externalId: ({ charge }) => charge,
})

// No keys here, but bookings can be searched: a probe answers instead of a person.
const Car = z.object({ car: z.string(), usd: z.number() })
const bookCar = tool({
  name: 'book_car',
  replayClass: 'unsafe_on_replay',
  blastRadius: 'external',
  input: z.object({ days: z.number() }),
  output: Car,
  run: (input, call) => post('car', input, call, { 'x-reference': call.attemptId }),
  probe: async (_input, call) => {
    const found = await post('bookings', { reference: call.attemptId }, call)
    return found ? { landed: 'yes', result: Car.parse(found) } : { landed: 'unknown' }
  },
  externalId: ({ car }) => car,
})

// A mail cannot be asked for, and cannot be called back.
const sendItinerary = tool({
  name: 'send_itinerary',
  replayClass: 'unsafe_on_replay',
  blastRadius: 'external',
  input: z.object({ to: z.string(), lines: z.array(z.string()) }),
  output: z.object({ messageId: z.string() }),
  run: (input, call) => post('mail', input, call),
  externalId: ({ messageId }) => messageId,
})

// The event's id is chosen here, so that putting it twice is putting it once.
const updateCalendar = tool({
  name: 'update_calendar',
  replayClass: 'idempotent_with_key',
  idempotencyKey: (_input, call) => `${call.runId}:event`,
  keyTtlMs: Number.POSITIVE_INFINITY,
  blastRadius: 'local',
  input: z.object({ title: z.string() }),
  run: (input, call) => post('calendar', input, call, keyed(call)),
})

const Trip = z.object({ traveller: z.string(), to: z.string(), nights: z.number() })

/**
 * Returns the price of the trip and what was booked for it.
 * @param {z.infer<typeof Trip>} request
 * @param {Pick<import('counterfoil').Context, 'call'>} ctx
 */
export async function bookTrip({ traveller, to, nights }, ctx) {
  const goal = `${nights} nights in ${to} for ${traveller}`
  /** @param {number} step */
  const turn = (step) => ctx.call(think, { step, goal })

  await turn(1)
  const { offers } = await ctx.call(searchFlights, { to })
  const cheapest = offers.reduce((best, one) => (one.usd < best.usd ? one : best))
  await turn(2)
  const { hold } = await ctx.call(holdFlight, { flight: cheapest.flight })
  await turn(3)
  const hotel = await ctx.call(bookHotel, { nights })
  await turn(4)
  const usd = Math.round((cheapest.usd + hotel.usd) * 100) / 100
  const { charge } = await ctx.call(chargeCard, { invoice: `inv-${hold}-${hotel.room}`, usd })
  await turn(5)
  const { car, usd: atTheDesk } = await ctx.call(bookCar, { days: nights })
  await turn(6)
  const lines = [cheapest.flight, hotel.room, car]
  const { messageId } = await ctx.call(sendItinerary, { to: traveller, lines })
  await turn(7)
  await ctx.call(updateCalendar, { title: goal })
  return { charge, messageId, price: { charged: usd, atTheDesk } }
}

export const trip = workflow({
  id: 'trip@1.0.0',
  input: Trip,
  tools: [
    ...[think, searchFlights, holdFlight, bookHotel],
    ...[chargeCard, bookCar, sendItinerary, updateCalendar],
  ],
  run: bookTrip,
})
