/** Settings of a runner in a bench: no budget stands in its way. */
import { type Config, readConfig } from '../../src/config.ts'

export const SETTINGS: Config = {
  ...readConfig({ OVERDUE_AFTER: '1h' }),
  budget: { maxDayMicros: 1_000_000_000_000, maxMonthMicros: null, maxRunMicros: null },
}
