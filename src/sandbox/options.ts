/** The options of a sandbox, checked in one place for the process, the command and the tests. */

import { z } from 'zod'
import { DEVIATION_NAMES } from './deviations.ts'
import { StoreEvent } from './events.ts'
import { FaultSettings } from './faults.ts'

/** The account's spending limits when none are asked for: more than any run spends. */
const spendingLimit = z.number().nonnegative().default(1_000_000)
const limit = (most: number) => z.number().int().positive().default(most)

/** Everything that can be chosen; each option has a default. */
export const Options = z.strictObject({
  /** 0 takes a free port. */
  port: z.number().int().min(0).max(65_535).default(0),
  /** Whether a port in use is an error; otherwise a free one is taken. */
  strictPort: z.boolean().default(false),
  login: z.string().min(1).default('sandbox'),
  password: z.string().min(1).default('sandbox'),
  /** Whether the account may be used; one that was never verified is refused with 40104. */
  verified: z.boolean().default(true),
  /** The longest that a task of normal priority takes; high priority takes half. */
  readyMs: z.number().int().nonnegative().default(2000),
  seed: z.number().int().nonnegative().default(1),
  /** The account's books; without it they are in memory only. */
  stateFile: z.string().optional(),
  /** Real apps to add to the ios_store (see catalogue.ts). */
  catalogFile: z.string().optional(),
  /** What happens to apps of the stores, and when (see events.ts). */
  events: z.array(StoreEvent).default([]),
  balanceUsd: z.number().nonnegative().default(1000),
  costLimitPerDayUsd: spendingLimit,
  costLimitPerMinuteUsd: spendingLimit,
  /** Calls within any 60 seconds, of all kinds and of some. */
  callsPerMinute: limit(2000),
  readyListsPerMinute: limit(20),
  idListsPerMinute: limit(10),
  statusPerMinute: limit(10),
  requestsInFlight: limit(30),
  /** Whether app_searches and app_list of android_store come as html only, as in the bare specification. */
  htmlOnly: z.boolean().default(false),
  /** Single ways in which the service as it is sold differs from its specification. */
  deviations: z.array(z.enum(DEVIATION_NAMES)).default([]),
  /** All of them. */
  asSold: z.boolean().default(false),
  /** A client that has not answered a webhook by then has failed to take it. */
  webhookTimeoutMs: limit(10_000),
  webhooksInFlight: limit(64),
  /** Trouble from the start; at run time it is `PUT /faults`. */
  faults: FaultSettings.prefault({}),
})

export type Options = z.output<typeof Options>
export type OptionsInput = z.input<typeof Options>
