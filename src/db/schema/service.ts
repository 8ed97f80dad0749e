/**
 * What the service says of itself, and what it charges: reference lists, prices, and the state of the
 * account; and the calls of it.
 */
import { sql } from 'drizzle-orm'
import {
  bigint,
  boolean,
  check,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  real,
  smallint,
  text,
} from 'drizzle-orm/pg-core'
import { instant, micros } from './columns.ts'

const clock = sql`clock_timestamp()`

export const location = pgTable(
  'location',
  {
    store: text('store').notNull(),
    code: integer('code').notNull(),
    name: text('name').notNull(),
    parentName: text('parent_name'),
    countryIsoCode: text('country_iso_code'),
    type: text('type'),
  },
  (t) => [
    primaryKey({ columns: [t.store, t.code] }),
    index('location_by_name').on(t.store, sql`lower(name collate "C")`),
  ],
)

export const language = pgTable(
  'language',
  { store: text('store').notNull(), code: text('code').notNull(), name: text('name').notNull() },
  (t) => [primaryKey({ columns: [t.store, t.code] })],
)

export const category = pgTable(
  'category',
  {
    store: text('store').notNull(),
    /** chart: by which a chart is asked for; listing: as a person reads it. */
    kind: text('kind').notNull().default('chart'),
    name: text('name').notNull(),
    /** Of a listing: how many apps are listed in it. */
    listings: bigint('listings', { mode: 'number' }),
  },
  (t) => [
    primaryKey({ columns: [t.store, t.kind, t.name] }),
    check('category_kind_known', sql`kind in ('chart', 'listing')`),
  ],
)

export const serviceError = pgTable('service_error', {
  code: integer('code').primaryKey(),
  message: text('message').notNull(),
})

/** One row each time the account was read: balance, limits, prices. Budgets go by the latest. */
export const accountUsage = pgTable('account_usage', {
  fetchedAt: instant('fetched_at').primaryKey().default(clock),
  login: text('login').notNull(),
  timezone: text('timezone'),
  balanceMicros: micros('balance_micros'),
  dayLimitMicros: micros('day_limit_micros'),
  daySpentMicros: micros('day_spent_micros'),
  minuteLimitMicros: micros('minute_limit_micros'),
  callsPerMinuteLimit: integer('calls_per_minute_limit'),
  /** `ledger_taken()` when the account was read: what is taken beyond it is not in the balance yet. */
  takenMicros: micros('taken_micros').notNull().default(sql`ledger_taken()`),
  /** How far our clock was ahead of the service's, at the least; null where the service did not say. */
  aheadS: integer('ahead_s'),
  /** [{store|null, function, normalMicros, highMicros}] as the price list said. */
  prices: jsonb('prices').notNull(),
})

/**
 * What the service charged for a billing unit last: its price list may say less, and the unit be another one.
 * Rows are rewritten by every charge that says something else, and count for eight days.
 */
export const chargedPrice = pgTable(
  'charged_price',
  {
    store: text('store').notNull(),
    function: text('function').notNull(),
    priority: smallint('priority').notNull(),
    unitMicros: micros('unit_micros').notNull(),
    /** Results in a billing unit, where the charges fit another one than is stated. */
    unitResults: integer('unit_results'),
    /** What is reserved until a task of another depth was charged: so much for each so many results. */
    reservedMicros: micros('reserved_micros'),
    reservedResults: integer('reserved_results'),
    /**
     * One task alone was charged more than ten times what is known. It does not count before another one was.
     */
    isDoubted: boolean('is_doubted').notNull().default(false),
    /** Of the dearest task that was charged so. */
    serviceId: text('service_id'),
    chargedAt: instant('charged_at').notNull().default(clock),
    /** Since when it says so. */
    learnedAt: instant('learned_at').notNull().default(clock),
    /** The log has told of it. */
    isTold: boolean('is_told').notNull().default(false),
  },
  (t) => [primaryKey({ columns: [t.store, t.function, t.priority] })],
)

/** The status that the service reports, one row per API and endpoint. */
export const serviceStatus = pgTable(
  'service_status',
  {
    api: text('api').notNull(),
    /** task_post, task_get, live, postback/pingback; '' is the API as a whole. */
    endpoint: text('endpoint').notNull(),
    status: text('status').notNull(),
    /** Since when it has been so, as far as we saw. */
    since: instant('since').notNull().default(clock),
    checkedAt: instant('checked_at').notNull().default(clock),
  },
  (t) => [primaryKey({ columns: [t.api, t.endpoint] })],
)

/** Tasks and webhooks of ours that the service lists as failed; its own list goes back 24 hours. */
export const serviceFailure = pgTable(
  'service_failure',
  {
    serviceId: text('service_id').notNull(),
    function: text('function').notNull(),
    at: instant('at').notNull(),
    errorCode: integer('error_code'),
    /** Without the address of our own webhooks, whose path is a secret. */
    errorMessage: text('error_message'),
    httpCode: integer('http_code'),
    httpSeconds: real('http_seconds'),
    /** When its webhook was asked for again. */
    resentAt: instant('resent_at'),
    seenAt: instant('seen_at').notNull().default(clock),
  },
  (t) => [
    primaryKey({ columns: [t.serviceId, t.function, t.at] }),
    index('service_failure_by_time').on(t.at),
  ],
)

/**
 * One row per request to the service, numbered in the order of its permits: the call window and the audit
 * trail in one.
 */
export const apiCall = pgTable(
  'api_call',
  {
    id: bigint('id', { mode: 'number' }).primaryKey(),
    kind: text('kind').notNull(),
    path: text('path').notNull(),
    runner: text('runner').notNull(),
    permitAt: instant('permit_at').notNull(),
    deadlineAt: instant('deadline_at').notNull(),
    endedAt: instant('ended_at'),
    httpStatus: integer('http_status'),
    statusCode: integer('status_code'),
    error: text('error'),
  },
  (t) => [
    // Of the kinds that have a limit of their own.
    index('api_call_of_kind').on(t.kind, t.permitAt).where(sql`kind in ('tasks_ready', 'id_list', 'status')`),
  ],
)

/**
 * One row: the lock behind which permits are given, the number of the last one, and which calls may be in
 * flight: an array, because a row for each was written twice a call, and each turn read past what the calls
 * of the last seconds had left behind.
 */
export const callWindow = pgTable(
  'call_window',
  {
    onlyOne: boolean('only_one').primaryKey().default(true),
    lastCallId: bigint('last_call_id', { mode: 'number' }).notNull().default(0),
    /** Ids of `api_call`, which says of each whether it has ended. */
    inFlight: bigint('in_flight', { mode: 'number' }).array().notNull().default([]),
  },
  () => [check('call_window_has_one_row', sql`only_one`)],
)
