/**
 * What the service says of itself, and what it charges: reference lists, prices, and the state of the
 * account; and the calls of it.
 */
import { sql } from 'drizzle-orm'
import { check, index, pgTable, primaryKey } from 'drizzle-orm/pg-core'
import { clock, instant, micros, whole } from './columns.ts'

export const location = pgTable(
  'location',
  (c) => ({
    store: c.text().notNull(),
    code: c.integer().notNull(),
    name: c.text().notNull(),
    parent_name: c.text(),
    country_iso_code: c.text(),
    type: c.text(),
  }),
  (t) => [
    primaryKey({ columns: [t.store, t.code] }),
    index('location_by_name').on(t.store, sql`lower(name collate "C")`),
  ],
)

export const language = pgTable(
  'language',
  (c) => ({ store: c.text().notNull(), code: c.text().notNull(), name: c.text().notNull() }),
  (t) => [primaryKey({ columns: [t.store, t.code] })],
)

export const category = pgTable(
  'category',
  (c) => ({
    store: c.text().notNull(),
    // chart: by which a chart is asked for; listing: as a person reads it.
    kind: c.text().notNull().default('chart'),
    name: c.text().notNull(),
    // Of a listing: how many apps are listed in it.
    listings: whole(),
  }),
  (t) => [
    primaryKey({ columns: [t.store, t.kind, t.name] }),
    check('category_kind_known', sql`kind in ('chart', 'listing')`),
  ],
)

/** One row each time the account was read: balance, limits, prices. Budgets go by the latest. */
export const accountUsage = pgTable('account_usage', (c) => ({
  fetched_at: instant().primaryKey().default(clock),
  login: c.text().notNull(),
  timezone: c.text(),
  balance_micros: micros(),
  day_limit_micros: micros(),
  day_spent_micros: micros(),
  minute_limit_micros: micros(),
  calls_per_minute_limit: c.integer(),
  // `ledger_taken()` when the account was read: what is taken beyond it is not in the balance yet.
  taken_micros: micros().notNull().default(sql`ledger_taken()`),
  // How far our clock was ahead of the service's, at the least; null where the service did not say.
  ahead_s: c.integer(),
  // [{store|null, function, normalMicros, highMicros}] as the price list said.
  prices: c.jsonb().notNull(),
}))

/**
 * What the service charged for a billing unit last: its price list may say less, and the unit be another one.
 * Rows are rewritten by every charge that says something else, and count for eight days.
 */
export const chargedPrice = pgTable(
  'charged_price',
  (c) => ({
    store: c.text().notNull(),
    function: c.text().notNull(),
    priority: c.smallint().notNull(),
    unit_micros: micros().notNull(),
    // Results in a billing unit, where the charges fit another one than is stated.
    unit_results: c.integer(),
    // What is reserved until a task of another depth was charged: so much for each so many results.
    reserved_micros: micros(),
    reserved_results: c.integer(),
    // One task alone was charged more than ten times what is known. It does not count before another one was.
    is_doubted: c.boolean().notNull().default(false),
    // Of the dearest task that was charged so.
    service_id: c.text(),
    charged_at: instant().notNull().default(clock),
    // Since when it says so.
    learned_at: instant().notNull().default(clock),
    // The log has told of it.
    is_told: c.boolean().notNull().default(false),
  }),
  (t) => [primaryKey({ columns: [t.store, t.function, t.priority] })],
)

/** The status that the service reports, one row per API and endpoint. */
export const serviceStatus = pgTable(
  'service_status',
  (c) => ({
    api: c.text().notNull(),
    // task_post, task_get, live, postback/pingback; '' is the API as a whole.
    endpoint: c.text().notNull(),
    status: c.text().notNull(),
    // Since when it has been so, as far as we saw.
    since: instant().notNull().default(clock),
    checked_at: instant().notNull().default(clock),
  }),
  (t) => [primaryKey({ columns: [t.api, t.endpoint] })],
)

/** Tasks and webhooks of ours that the service lists as failed; its own list goes back 24 hours. */
export const serviceFailure = pgTable(
  'service_failure',
  (c) => ({
    service_id: c.text().notNull(),
    function: c.text().notNull(),
    at: instant().notNull(),
    error_code: c.integer(),
    // Without the address of our own webhooks, whose path is a secret.
    error_message: c.text(),
    http_code: c.integer(),
    http_seconds: c.real(),
    // When its webhook was asked for again.
    resent_at: instant(),
    seen_at: instant().notNull().default(clock),
  }),
  (t) => [
    primaryKey({ columns: [t.service_id, t.function, t.at] }),
    index('service_failure_by_time').on(t.at),
  ],
)

/**
 * One row per request to the service, numbered in the order of its permits: the call window and the audit
 * trail in one.
 */
export const apiCall = pgTable(
  'api_call',
  (c) => ({
    id: whole().primaryKey(),
    kind: c.text().notNull(),
    path: c.text().notNull(),
    runner: c.text().notNull(),
    permit_at: instant().notNull(),
    deadline_at: instant().notNull(),
    ended_at: instant(),
    http_status: c.integer(),
    status_code: c.integer(),
    error: c.text(),
  }),
  (t) => [
    // Of the kinds that have a limit of their own.
    index('api_call_of_kind')
      .on(t.kind, t.permit_at)
      .where(sql`kind in ('tasks_ready', 'id_list', 'status')`),
  ],
)

/**
 * One row: the lock behind which permits are given, the number of the last one, and which calls may be in
 * flight: an array, because a row for each was written twice a call, and each turn read past what the calls
 * of the last seconds had left behind.
 */
export const callWindow = pgTable(
  'call_window',
  (c) => ({
    only_one: c.boolean().primaryKey().default(true),
    last_call_id: whole().notNull().default(0),
    // Ids of `api_call`, which says of each whether it has ended.
    in_flight: whole().array().notNull().default([]),
  }),
  () => [check('call_window_has_one_row', sql`only_one`)],
)
