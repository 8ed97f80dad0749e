/**
 * Stands in for `src/timings.ts` in a runner of the harness: everything that takes seconds or minutes is
 * about ten times shorter, in the same order. Posts, fetch jobs and the pieces of plans and closings are
 * small, so that there are many of them.
 */
import { TIMINGS as OF_THE_PRODUCT, type Timings } from '../../src/timings.ts'
import { GUARDS, type GuardName } from './guards.ts'

const SHORTER: Timings = {
  ...OF_THE_PRODUCT,
  callTimeoutMs: 2_000,
  longestPermitMs: 2_500,
  firstRetryMs: 100,
  rateLimitPauseMs: 1_000,
  refusalPauseMs: 1_000,
  troublePauseMs: 500,
  unlistedMs: 2_000,
  unusablePauseMs: 500,
  firstAttemptPauseMs: 1_000,
  secondAttemptPauseMs: 3_000,
  idleInTransactionMs: 3_000,
  ledgerLockMs: 1_500,
  leaseMs: 6_000,
  askAgainFromMs: 3_000,
  highPriorityOverdueMs: 3_000,
  clockChangeMs: 30_000,
  signOfLifeMs: 1_000,
  frozenAfterMs: 5_000,
  heartbeatS: 10,
  superviseS: 1,
  longestRetryS: 2,
  graceMs: 5_000,
  tasksPerPost: 10,
  resultsPerFetchJob: 20,
  foldAtRows: 20,
  planSlots: 40,
  firstPlanSlots: 20,
  planAskers: 60,
  opening: { slots: 40, slotsOfPeriod: 2 },
  closeSlots: 20,
}

const scenario = process.env.CRASH_SCENARIO as GuardName | undefined

export const TIMINGS: Timings = { ...SHORTER, ...(scenario === undefined ? {} : GUARDS[scenario].timings) }
