/**
 * Loaded with `--import`: `Date` as far ahead of the machine's clock as TEST_CLOCK_AHEAD_MS says. See
 * `moved-clock.ts`.
 */

const aheadMs = Number(process.env.TEST_CLOCK_AHEAD_MS ?? 0)
const MachineDate = Date

class MovedDate extends MachineDate {
  static override now() {
    return MachineDate.now() + aheadMs
  }
  constructor(...given: unknown[]) {
    super(...((given.length === 0 ? [MovedDate.now()] : given) as [number]))
  }
}
if (aheadMs !== 0) globalThis.Date = MovedDate as DateConstructor
