/**
 * The history: exactly one row per closed (target, slot), a capture or a gap with its reason. Both history
 * tables and `page` are partitioned by month of slot (drizzle/0001), which Drizzle cannot declare.
 */
import { sql } from 'drizzle-orm'
import { check, index, pgTable, primaryKey, uniqueIndex } from 'drizzle-orm/pg-core'
import { bytes, clock, instant, micros, whole } from './columns.ts'

/** The dictionary of apps: (store, app_id) ↔ int id, with what the latest result said. */
export const app = pgTable(
  'app',
  (c) => ({
    id: c.integer().primaryKey().generatedAlwaysAsIdentity(),
    store: c.text().notNull(),
    app_id: c.text().notNull(),
    title: c.text(),
    developer: c.text(),
    icon: c.text(),
    url: c.text(),
    first_seen_at: instant().notNull().default(clock),
    updated_at: instant().notNull().default(clock),
    // Whose the app has been: [{developer, until}], the earliest first; null while it had one developer.
    former_developers: c.jsonb(),
  }),
  (t) => [uniqueIndex('app_once').on(t.store, t.app_id)],
)

const gapRule = (table: string) => [
  check(`${table}_gap_known`, sql`gap in ('failed', 'budget', 'missed', 'html_only')`),
]

/** By which watch_problem finds what failed. */
const failures = (table: string) => index(`${table}_failed`)

export const ranking = pgTable(
  'ranking',
  (c) => ({
    target_id: c.integer().notNull(),
    slot: instant().notNull(),
    captured_at: instant(),
    gap: c.text(),
    // Of a gap; of a capture, which items could not be read: an app that is not in it may be one of them.
    reason: c.text(),
    depth: c.smallint(),
    results_count: whole(),
    // `app_ids[i]` is the app at organic rank i (rank_group); a hole is 0.
    app_ids: c.integer().array(),
    // Absolute ranks beside `app_ids`, null where none differs from the organic rank.
    absolute: c.smallint().array(),
    // The advertised apps from top to bottom, and their places among all results; null without any.
    paid_ids: c.integer().array(),
    paid_places: c.smallint().array(),
  }),
  (t) => [
    primaryKey({ columns: [t.target_id, t.slot] }),
    failures('ranking').on(t.target_id, t.slot).where(sql`gap = 'failed'`),
    ...gapRule('ranking'),
    check('ranking_capture_or_gap', sql`(gap is null) = (app_ids is not null and captured_at is not null)`),
  ],
)

/**
 * What searches and charts say of all apps that they show, in columns: entry i of each array is of app
 * `block * 32768 + apps[i]`. A value stands where it differs from the one before in the month: each month
 * begins anew, and can be read and dropped without the others.
 */
export const appNumbers = pgTable(
  'app_numbers',
  (c) => ({
    id: whole().generatedAlwaysAsIdentity(),
    location_code: c.integer().notNull(),
    // Of UTC, on which the store was asked.
    day: c.date().notNull(),
    block: c.integer().notNull(),
    apps: c.smallint().array().notNull(),
    votes: c.integer().array(),
    // In hundredths of a star.
    ratings: c.smallint().array(),
    // In millionths of `currency`; 0 is free, which is what an app is until a price stands here.
    price_micros: whole().array(),
    // Of the prices, as far as the store says it.
    currency: c.text(),
  }),
  (t) => [primaryKey({ columns: [t.location_code, t.id] })],
)

export const appSnapshot = pgTable(
  'app_snapshot',
  (c) => ({
    target_id: c.integer().notNull(),
    slot: instant().notNull(),
    captured_at: instant(),
    gap: c.text(),
    reason: c.text(),
    app: c.integer(),
    found: c.boolean(),
    rating: c.real(),
    votes_count: whole(),
    reviews_count: whole(),
    price_micros: micros(),
    currency: c.text(),
    is_free: c.boolean(),
    version: c.text(),
    minimum_os_version: c.text(),
    size: c.text(),
    main_category: c.text(),
    installs_count: whole(),
    released_at: instant(),
    updated_at: instant(),
    listing_hash: bytes(),
  }),
  (t) => [
    primaryKey({ columns: [t.target_id, t.slot] }),
    failures('app_snapshot').on(t.target_id, t.slot).where(sql`gap = 'failed'`),
    ...gapRule('app_snapshot'),
    check(
      'app_snapshot_capture_or_gap',
      sql`(gap is null) = (found is not null and captured_at is not null)`,
    ),
  ],
)

/** The long texts and image lists of an app's page, once per distinct content. */
export const listing = pgTable('listing', (c) => ({
  hash: bytes().primaryKey(),
  title: c.text(),
  description: c.text(),
  update_notes: c.text(),
  icon: c.text(),
  images: c.text().array(),
  // Developer, categories, languages, advisories, contacts and what else the page said.
  details: c.jsonb().notNull(),
  first_seen_at: instant().notNull().default(clock),
}))

/**
 * Reviews of apps, one row for each, however many captures show it; an edited review is kept as it was shown
 * last. The slots of reviews are rows of `app_snapshot`, with what the store said of the app as a whole.
 */
export const review = pgTable(
  'review',
  (c) => ({
    app: c.integer().notNull(),
    review_id: c.text().notNull(),
    location_code: c.integer().notNull(),
    language_code: c.text().notNull(),
    version: c.text(),
    rating: c.real(),
    title: c.text(),
    text: c.text(),
    author: c.text(),
    author_image: c.text(),
    helpful_count: c.integer(),
    // What the developer answered: [{author, title, text, timestamp}], in the order of the store; null where
    // it gives none.
    responses: c.jsonb(),
    written_at: instant(),
    first_seen_at: instant().notNull(),
    last_seen_at: instant().notNull(),
  }),
  (t) => [primaryKey({ columns: [t.app, t.review_id] }), index('review_by_time').on(t.app, t.written_at)],
)

/**
 * Raw pages: of a watch that asks for them, and of a result that is offered in no other form (outcome
 * `html_only`).
 */
export const page = pgTable(
  'page',
  (c) => ({
    target_id: c.integer().notNull(),
    slot: instant().notNull(),
    number: c.smallint().notNull(),
    scanned_at: instant(),
    html_gzip: bytes().notNull(),
  }),
  (t) => [primaryKey({ columns: [t.target_id, t.slot, t.number] })],
)
