/**
 * The times that runners wait for each other, for the service and for the database, and the sizes of what
 * they do at once. They hold an order: a call times out < a frozen transaction or job is given up < a lost
 * post is looked for again (RECONCILE_QUIET). Constants of the product, and no settings:
 * `test/crash/timings.ts` stands in for this file while the crash harness runs.
 */
export const TIMINGS = {
  /** Hard total timeout of a request; its row counts as in flight no longer than this. */
  callTimeoutMs: 25_000,
  /** The longest that a permit for a call is valid (src/db/call-window.ts): with the call below `graceMs`. */
  longestPermitMs: 4_500,
  /** The pause after the first attempt of a call; each next one is twice as long. */
  firstRetryMs: 500,
  /** After 40202. The service counts by the minute, and does not say when its minute began. */
  rateLimitPauseMs: 60_000,
  /** How long nothing is posted after the service refused the account: it would refuse each post. */
  refusalPauseMs: 60_000,
  /** Before a result is asked for again of a server in trouble. */
  troublePauseMs: 60_000,
  /** A range of the service's list may not end at its present (docs/service.md: end of id_list). */
  unlistedMs: 4_000,
  /** Before a result that could not be read is first asked for again; each next pause is twice as long. */
  unusablePauseMs: 60_000,

  /**
   * Before a task that the store failed is posted again, and again after that; at most half of what is left
   * of its slot. Failures of the store come in bursts of minutes to hours.
   */
  firstAttemptPauseMs: 5 * 60_000,
  secondAttemptPauseMs: 2 * 60 * 60_000,

  /** A transaction whose runner was frozen must not hold its row locks for ever. */
  idleInTransactionMs: 30_000,
  /** Longer than any holder needs for one piece. Then who waits gives up, and names the holder. */
  ledgerLockMs: 15_000,
  /** A transaction that holds the lock so long hangs, and is given up. Those that work take a second. */
  ledgerHoldMs: 2 * 60_000,
  /** A fetch job that takes longer is taken for dead. */
  leaseMs: 5 * 60_000,
  /** Before an overdue task is asked for again; each pause is twice as long, at most a day. */
  askAgainFromMs: 5 * 60_000,
  /** When a task of high priority is overdue, and asked for by id. */
  highPriorityOverdueMs: 5 * 60_000,
  /** The scan for a lost post begins so long before its sending: a clock may have been set in between. */
  clockChangeMs: 5 * 60_000,

  /** The longest pause before a result in hand is stored again while the database cannot be reached. */
  longestOutagePauseMs: 5_000,

  /** How often the session of a job says that its runner lives, and when it is given up without that. */
  signOfLifeMs: 20_000,
  frozenAfterMs: 120_000,
  /** A worker that sends no heartbeat for that long is dead; its job goes to another. */
  heartbeatS: 20,
  /** How often pg-boss looks for dead workers. */
  superviseS: 30,
  /** The longest pause before a failed job of the queue is tried again. */
  longestRetryS: 60,
  /** Longer than a POST may take (25.5 s): what is in flight is settled before the runner ends. */
  graceMs: 30_000,

  /** spec: Limits */
  tasksPerPost: 100,
  /**
   * Four jobs of these end before their lease, with 160 calls a minute or more. A full list is five of them,
   * so that one is left to fetch while the next list is asked.
   */
  resultsPerFetchJob: 200,
  /** Of a runner (src/db/connections.ts): six always, and four for two jobs and their statements. */
  fewestConnections: 10,
  /** Most posts wait for an answer or a permit. The client and the call window bound the requests. */
  postsAtOnce: 10,
  fetchJobsAtOnce: 4,
  /** With fewer changes in `spend`, summing them costs less than folding them. */
  foldAtRows: 1_000,
  /** (target, slot) pairs in one transaction: it holds the ledger's lock for less than a second. */
  planSlots: 10_000,
  /** The first piece of a plan, which is posted before the others are planned. */
  firstPlanSlots: 1_000,
  /** Askers in one transaction: each is compared with its budget. One slot may have more. */
  planAskers: 60_000,
  /** In one transaction, which holds the ledger's lock: one slot of most periods, more after a downtime. */
  opening: { slots: 10_000, slotsOfPeriod: 24 },
  closeSlots: 10_000,
  /** Longer than from one `track` to the next, so that a plan finds a slot when it begins. */
  openAheadMs: 20 * 60_000,
}

export type Timings = Readonly<typeof TIMINGS>
