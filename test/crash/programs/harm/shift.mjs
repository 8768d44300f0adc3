// Preloaded (`--import`): the wall clock of this process is off by COUNTERFOIL_SHIFT_MS. Timers and
// the monotonic clock are as they were.
const shiftMs = Number(process.env['COUNTERFOIL_SHIFT_MS'] ?? 0)
const real = Date.now
const RealDate = Date

Date.now = () => real() + shiftMs
globalThis.Date = new Proxy(RealDate, {
  construct: (target, args, self) =>
    Reflect.construct(target, args.length === 0 ? [real() + shiftMs] : args, self),
  apply: () => new RealDate(real() + shiftMs).toString(),
})
