/**
 * The history: exactly one row per closed (target, slot), a capture or a gap with its reason. Both history
 * tables and `page` are partitioned by month of slot (drizzle/0001), which Drizzle cannot declare.
 */
import { sql } from 'drizzle-orm'
import {
  bigint,
  boolean,
  check,
  date,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  real,
  smallint,
  text,
  uniqueIndex,
} from 'drizzle-orm/pg-core'
import { bytes, instant, micros } from './columns.ts'

const clock = sql`clock_timestamp()`

/** The dictionary of apps: (store, app_id) ↔ int id, with what the latest result said. */
export const app = pgTable(
  'app',
  {
    id: integer('id').primaryKey().generatedAlwaysAsIdentity(),
    store: text('store').notNull(),
    appId: text('app_id').notNull(),
    title: text('title'),
    developer: text('developer'),
    icon: text('icon'),
    url: text('url'),
    firstSeenAt: instant('first_seen_at').notNull().default(clock),
    updatedAt: instant('updated_at').notNull().default(clock),
    /** Whose the app has been: [{developer, until}], the earliest first; null while it had one developer. */
    formerDevelopers: jsonb('former_developers'),
  },
  (t) => [uniqueIndex('app_once').on(t.store, t.appId)],
)

const gapRule = (table: string) => [
  check(`${table}_gap_known`, sql`gap in ('failed', 'budget', 'missed', 'html_only')`),
]

/** By which watch_problem finds what failed. */
const failures = (table: string) => index(`${table}_failed`)

export const ranking = pgTable(
  'ranking',
  {
    targetId: integer('target_id').notNull(),
    slot: instant('slot').notNull(),
    capturedAt: instant('captured_at'),
    gap: text('gap'),
    /** Of a gap; of a capture, which items could not be read: an app that is not in it may be one of them. */
    reason: text('reason'),
    depth: smallint('depth'),
    resultsCount: bigint('results_count', { mode: 'number' }),
    /** `app_ids[i]` is the app at organic rank i (rank_group); a hole is 0. */
    appIds: integer('app_ids').array(),
    /** Absolute ranks beside `app_ids`, null where none differs from the organic rank. */
    absolute: smallint('absolute').array(),
    /** The advertised apps from top to bottom, and their places among all results; null without any. */
    paidIds: integer('paid_ids').array(),
    paidPlaces: smallint('paid_places').array(),
  },
  (t) => [
    primaryKey({ columns: [t.targetId, t.slot] }),
    failures('ranking').on(t.targetId, t.slot).where(sql`gap = 'failed'`),
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
  {
    id: bigint('id', { mode: 'number' }).generatedAlwaysAsIdentity(),
    locationCode: integer('location_code').notNull(),
    /** Of UTC, on which the store was asked. */
    day: date('day').notNull(),
    block: integer('block').notNull(),
    apps: smallint('apps').array().notNull(),
    votes: integer('votes').array(),
    /** In hundredths of a star. */
    ratings: smallint('ratings').array(),
    /** In millionths of `currency`; 0 is free, which is what an app is until a price stands here. */
    priceMicros: bigint('price_micros', { mode: 'number' }).array(),
    /** Of the prices, as far as the store says it. */
    currency: text('currency'),
  },
  (t) => [primaryKey({ columns: [t.locationCode, t.id] })],
)

export const appSnapshot = pgTable(
  'app_snapshot',
  {
    targetId: integer('target_id').notNull(),
    slot: instant('slot').notNull(),
    capturedAt: instant('captured_at'),
    gap: text('gap'),
    reason: text('reason'),
    app: integer('app'),
    found: boolean('found'),
    rating: real('rating'),
    votesCount: bigint('votes_count', { mode: 'number' }),
    reviewsCount: bigint('reviews_count', { mode: 'number' }),
    /** In millionths of `currency`, which need not be the dollar. */
    priceMicros: micros('price_micros'),
    currency: text('currency'),
    isFree: boolean('is_free'),
    version: text('version'),
    minimumOsVersion: text('minimum_os_version'),
    size: text('size'),
    mainCategory: text('main_category'),
    installsCount: bigint('installs_count', { mode: 'number' }),
    releasedAt: instant('released_at'),
    updatedAt: instant('updated_at'),
    listingHash: bytes('listing_hash'),
  },
  (t) => [
    primaryKey({ columns: [t.targetId, t.slot] }),
    failures('app_snapshot').on(t.targetId, t.slot).where(sql`gap = 'failed'`),
    ...gapRule('app_snapshot'),
    check(
      'app_snapshot_capture_or_gap',
      sql`(gap is null) = (found is not null and captured_at is not null)`,
    ),
  ],
)

/** The long texts and image lists of an app's page, once per distinct content. */
export const listing = pgTable('listing', {
  hash: bytes('hash').primaryKey(),
  title: text('title'),
  description: text('description'),
  updateNotes: text('update_notes'),
  icon: text('icon'),
  images: text('images').array(),
  /** Developer, categories, languages, advisories, contacts and what else the page said. */
  details: jsonb('details').notNull(),
  firstSeenAt: instant('first_seen_at').notNull().default(clock),
})

/**
 * Reviews of apps, one row for each, however many captures show it; an edited review is kept as it was shown
 * last. The slots of reviews are rows of `app_snapshot`, with what the store said of the app as a whole.
 */
export const review = pgTable(
  'review',
  {
    app: integer('app').notNull(),
    reviewId: text('review_id').notNull(),
    locationCode: integer('location_code').notNull(),
    languageCode: text('language_code').notNull(),
    version: text('version'),
    rating: real('rating'),
    title: text('title'),
    text: text('text'),
    author: text('author'),
    authorImage: text('author_image'),
    /** How many people found it helpful, as far as the store tells. */
    helpfulCount: integer('helpful_count'),
    /**
     * What the developer answered: [{author, title, text, timestamp}], in the order of the store; null where
     * it gives none.
     */
    responses: jsonb('responses'),
    writtenAt: instant('written_at'),
    firstSeenAt: instant('first_seen_at').notNull(),
    lastSeenAt: instant('last_seen_at').notNull(),
  },
  (t) => [primaryKey({ columns: [t.app, t.reviewId] }), index('review_by_time').on(t.app, t.writtenAt)],
)

/**
 * Raw pages: of a watch that asks for them, and of a result that is offered in no other form (outcome
 * `html_only`).
 */
export const page = pgTable(
  'page',
  {
    targetId: integer('target_id').notNull(),
    slot: instant('slot').notNull(),
    number: smallint('number').notNull(),
    scannedAt: instant('scanned_at'),
    htmlGzip: bytes('html_gzip').notNull(),
  },
  (t) => [primaryKey({ columns: [t.targetId, t.slot, t.number] })],
)
