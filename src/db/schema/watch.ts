/**
 * The tables that people write: projects and watches. Every rule that the specification states on a watch is
 * a CHECK that says what was given and what is allowed (spec: Task posting, Limits). Whole numbers that
 * people write are bigints, so that one that is far too large meets its rule, and not the range of its type,
 * of which PostgreSQL says neither column nor value.
 */
import { sql } from 'drizzle-orm'
import {
  bigint,
  boolean,
  check,
  doublePrecision,
  index,
  integer,
  interval,
  pgTable,
  smallint,
  text,
  uniqueIndex,
} from 'drizzle-orm/pg-core'
import { businessNow, instant } from './columns.ts'
import { rulesOf } from './rule.ts'

type Rule = ReturnType<typeof rulesOf>

/** As a literal of SQL, because a CHECK takes no parameters. */
const UNSUPPORTED_COUNTRY = sql.raw(String.raw`'(^|,)\s*(russia|russian federation|belarus)\s*$'`)

/**
 * Rules that the watches have in common, under the watch's own name. Names of places are compared without
 * regard to case in the collation "C", because that of the database may be Turkish, where I is not the
 * capital of i.
 */
function sharedRules(rule: Rule) {
  return [
    rule('location_code_positive', sql`location_code between 1 and 2147483647`, 'location_code'),
    rule(
      'location_name_1_to_200',
      sql`char_length(location_name) between 1 and 200`,
      'location_name',
      'char_length(location_name)',
    ),
    rule(
      'location_name_without_control_characters',
      sql`not has_control_characters(location_name)`,
      'location_name',
    ),
    rule(
      'location_country_supported',
      sql`location_code not in (2643, 2112) and location_name collate "C" !~* ${UNSUPPORTED_COUNTRY}`,
      'coalesce(location_name, location_code::text)',
    ),
    rule('language_code_form', sql`language_code ~ '^[a-z]{2,3}(-[A-Za-z0-9]{2,8}){0,4}$'`, 'language_code'),
    rule('priority_1_or_2', sql`priority in (1, 2)`, 'priority'),
    rule('tags_at_most_50', sql`cardinality(tags) <= 50`, 'cardinality(tags)'),
    // Most have none, and a function with a query in it is slow.
    rule('tags_of_1_to_100_characters', sql`tags = '{}' or have_length(tags, 1, 100)`, 'tags'),
    rule(
      'tags_without_control_characters',
      sql`tags = '{}' or not has_control_characters(array_to_string(tags, ''))`,
      'tags',
    ),
    rule('note_at_most_10000_characters', sql`char_length(note) <= 10000`, 'note', 'char_length(note)'),
    rule(
      'note_without_control_characters',
      sql`not has_control_characters(translate(note, E'\\t\\r\\n', ''))`,
      'note',
    ),
    rule(
      'every_1_2_3_4_6_8_12_hours_or_1_to_31_days',
      sql`every = '1 day' or (extract(year from every) = 0 and extract(month from every) = 0
        and (extract(epoch from every) in (3600, 7200, 10800, 14400, 21600, 28800, 43200)
          or (mod(extract(epoch from every), 86400) = 0 and extract(epoch from every) between 86400
            and 2678400)))`,
      'every',
    ),
  ]
}

/** Where there is no such store, that alone is said. */
const inStore = (condition: ReturnType<typeof sql>) =>
  sql`store not in ('ios_store', 'android_store') or (${condition})`
const keywordRule = rulesOf('keyword_watch', ['project', 'store', 'keyword'])
const appRule = rulesOf('app_watch', ['project', 'store', 'app_id'])
const chartRule = rulesOf('chart_watch', ['project', 'collection', 'category'])

export const keywordWatch = pgTable(
  'keyword_watch',
  {
    id: bigint('id', { mode: 'number' }).primaryKey().generatedByDefaultAsIdentity(),
    project: text('project').notNull(),
    store: text('store').notNull(),
    keyword: text('keyword').notNull(),
    locationCode: bigint('location_code', { mode: 'number' }),
    locationName: text('location_name'),
    languageCode: text('language_code').notNull(),
    depth: bigint('depth', { mode: 'number' }).notNull(),
    html: boolean('html').notNull().default(false),
    every: interval('every').notNull().default('1 day'),
    priority: bigint('priority', { mode: 'number' }).notNull().default(1),
    /**
     * What the keyword is worth beside the others of its project, in visibility and share of voice. Where
     * none is given its volume counts, and 1 where there is none either.
     */
    weight: doublePrecision('weight'),
    /** Searches in a month, or any other measure of them, from whichever tool. */
    volume: bigint('volume', { mode: 'number' }),
    enabled: boolean('enabled').notNull().default(true),
    tags: text('tags').array().notNull().default([]),
    note: text('note'),
    createdAt: instant('created_at').notNull().default(businessNow),
  },
  () => [
    ...sharedRules(keywordRule),
    keywordRule('store_known', sql`store in ('ios_store', 'android_store')`, 'store'),
    // Each `%` and each `+` counts three (spec: Task posting).
    keywordRule(
      'keyword_1_to_700_as_posted',
      sql`char_length(replace(replace(keyword, '%', '%25'), '+', '%2B')) between 1 and 700`,
      'keyword',
      "char_length(replace(replace(keyword, '%', '%25'), '+', '%2B'))",
    ),
    keywordRule('keyword_without_control_characters', sql`not has_control_characters(keyword)`, 'keyword'),
    keywordRule(
      'location_name_missing',
      sql`num_nonnulls(location_code, location_name) > 0`,
      'location_name',
    ),
    keywordRule(
      'at_most_one_location',
      sql`num_nonnulls(location_code, location_name) <= 1`,
      'location_code',
      'location_name',
    ),
    keywordRule(
      'depth_1_to_maximum_of_function',
      inStore(sql`depth between 1 and case store when 'ios_store' then 700 else 200 end`),
      'depth',
    ),
    // NaN is greater than every number.
    keywordRule('weight_0_to_1000000', sql`weight between 0 and 1000000`, 'weight'),
    keywordRule('volume_0_to_1000000000', sql`volume between 0 and 1000000000`, 'volume'),
    keywordRule('html_only_of_android_store', inStore(sql`not html or store = 'android_store'`), 'store'),
    uniqueIndex('keyword_watch_same_row_twice').on(
      sql`project`,
      sql`store`,
      // A keyword of 700 characters may be longer than an entry of an index.
      sql`subject_key(keyword)`,
      sql`coalesce(location_code, 0)`,
      sql`lower(coalesce(location_name, '') collate "C")`,
      sql`language_code`,
    ),
    // Spellings that another one keeps from being followed.
    index('keyword_watch_with_capitals')
      .on(sql`project`, sql`subject_key(folded_subject(keyword))`)
      .where(sql`keyword <> folded_subject(keyword)`),
    // watch_problem finds by it which places there are, and the watches of one.
    index('keyword_watch_of_place').on(
      sql`store`,
      sql`coalesce(location_code, 0)`,
      sql`coalesce(location_name, '')`,
      sql`language_code`,
    ),
  ],
)

export const appWatch = pgTable(
  'app_watch',
  {
    id: bigint('id', { mode: 'number' }).primaryKey().generatedByDefaultAsIdentity(),
    project: text('project').notNull(),
    store: text('store').notNull(),
    appId: text('app_id').notNull(),
    label: text('label'),
    role: text('role').notNull().default('own'),
    locationCode: bigint('location_code', { mode: 'number' }),
    locationName: text('location_name'),
    languageCode: text('language_code'),
    info: boolean('info').notNull().default(false),
    html: boolean('html').notNull().default(false),
    reviews: boolean('reviews').notNull().default(false),
    reviewsDepth: bigint('reviews_depth', { mode: 'number' }).notNull(),
    every: interval('every').notNull().default('1 day'),
    priority: bigint('priority', { mode: 'number' }).notNull().default(1),
    enabled: boolean('enabled').notNull().default(true),
    tags: text('tags').array().notNull().default([]),
    note: text('note'),
    createdAt: instant('created_at').notNull().default(businessNow),
  },
  () => [
    ...sharedRules(appRule),
    appRule('store_known', sql`store in ('ios_store', 'android_store')`, 'store'),
    appRule(
      'app_id_form_by_store',
      inStore(sql`case store
        when 'ios_store' then app_id ~ '^[1-9][0-9]{2,18}$'
        else app_id ~ '^[A-Za-z][A-Za-z0-9_]*([.][A-Za-z0-9_]+)+$' and char_length(app_id) <= 255 end`),
      'app_id',
      'store',
    ),
    appRule('label_1_to_200', sql`char_length(label) between 1 and 200`, 'label', 'char_length(label)'),
    appRule('label_without_control_characters', sql`not has_control_characters(label)`, 'label'),
    appRule('role_own_or_competitor', sql`role in ('own', 'competitor')`, 'role'),
    appRule(
      'at_most_one_location',
      sql`num_nonnulls(location_code, location_name) <= 1`,
      'location_code',
      'location_name',
    ),
    appRule(
      'info_needs_location_and_language',
      sql`not info or (num_nonnulls(location_code, location_name) = 1 and language_code is not null)`,
      'info',
    ),
    appRule(
      'html_only_with_info_or_reviews_of_android_store',
      inStore(sql`not html or ((info or reviews) and store = 'android_store')`),
      'info',
      'reviews',
      'store',
    ),
    appRule(
      'reviews_need_location_and_language',
      sql`not reviews or (num_nonnulls(location_code, location_name) = 1 and language_code is not null)`,
      'reviews',
    ),
    // The android_store gives up to 100,000, which is more than an answer may hold that a runner reads
    // (docs/service.md: reviews of the android_store).
    appRule(
      'reviews_depth_1_to_maximum',
      inStore(sql`reviews_depth between 1 and case store when 'ios_store' then 500 else 10000 end`),
      'reviews_depth',
    ),
    uniqueIndex('app_watch_same_row_twice').on(
      sql`project`,
      sql`store`,
      sql`app_id`,
      sql`coalesce(location_code, 0)`,
      sql`lower(coalesce(location_name, '') collate "C")`,
      sql`coalesce(language_code, '')`,
    ),
  ],
)

const AGE_RULES = [
  chartRule('age_rating_known', sql`age_rating in ('ages_up_to_5', 'ages_6_8', 'ages_9_12')`, 'age_rating'),
  chartRule(
    'age_rating_only_of_family_of_android_store',
    inStore(sql`age_rating is null or (store = 'android_store' and coalesce(category, '') = 'family')`),
    'age_rating',
    'category',
    'store',
  ),
]

/**
 * A chart: the apps of a collection of a store, on which every app of the project in that store is ranked.
 */
export const chartWatch = pgTable(
  'chart_watch',
  {
    id: bigint('id', { mode: 'number' }).primaryKey().generatedByDefaultAsIdentity(),
    project: text('project').notNull(),
    store: text('store').notNull().default('android_store'),
    collection: text('collection').notNull(),
    category: text('category'),
    /** For whom the apps are, in the category family of android_store. */
    ageRating: text('age_rating'),
    locationCode: bigint('location_code', { mode: 'number' }),
    locationName: text('location_name'),
    languageCode: text('language_code').notNull(),
    depth: bigint('depth', { mode: 'number' }).notNull().default(100),
    html: boolean('html').notNull().default(false),
    every: interval('every').notNull().default('1 day'),
    priority: bigint('priority', { mode: 'number' }).notNull().default(1),
    enabled: boolean('enabled').notNull().default(true),
    tags: text('tags').array().notNull().default([]),
    note: text('note'),
    createdAt: instant('created_at').notNull().default(businessNow),
  },
  () => [
    ...sharedRules(chartRule),
    chartRule('store_known', sql`store in ('ios_store', 'android_store')`, 'store'),
    chartRule(
      'collection_1_to_255_characters',
      sql`char_length(collection) between 1 and 255`,
      'collection',
      'char_length(collection)',
    ),
    chartRule(
      'collection_without_control_characters',
      sql`not has_control_characters(collection)`,
      'collection',
    ),
    chartRule(
      'category_1_to_255_characters',
      sql`char_length(category) between 1 and 255`,
      'category',
      'char_length(category)',
    ),
    chartRule('category_without_control_characters', sql`not has_control_characters(category)`, 'category'),
    ...AGE_RULES,
    chartRule('location_name_missing', sql`num_nonnulls(location_code, location_name) > 0`, 'location_name'),
    chartRule(
      'at_most_one_location',
      sql`num_nonnulls(location_code, location_name) <= 1`,
      'location_code',
      'location_name',
    ),
    chartRule(
      'depth_1_to_maximum_of_chart',
      inStore(sql`depth between 1 and case store when 'ios_store' then 1000 else 200 end`),
      'depth',
    ),
    chartRule('html_only_of_android_store', inStore(sql`not html or store = 'android_store'`), 'store'),
    uniqueIndex('chart_watch_same_row_twice').on(
      sql`project`,
      sql`store`,
      sql`collection`,
      sql`coalesce(category, '')`,
      sql`coalesce(age_rating, '')`,
      sql`coalesce(location_code, 0)`,
      sql`lower(coalesce(location_name, '') collate "C")`,
      sql`language_code`,
    ),
  ],
)

/**
 * What a watch asked for, and from when to when. Triggers write it, and rows are never deleted: views join it
 * and not the watch, so that a deleted, disabled or changed watch keeps its history and owes only what it
 * asked for at the time.
 */
export const watchPeriod = pgTable(
  'watch_period',
  {
    id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    kind: text('kind').notNull(),
    watchId: bigint('watch_id', { mode: 'number' }).notNull(),
    project: text('project').notNull(),
    /**
     * Of `target` and of `app`. No foreign keys: triggers write it from rows that are never deleted, and each
     * check would cost as much as a row.
     */
    targetId: integer('target_id'),
    app: integer('app'),
    role: text('role'),
    label: text('label'),
    every: interval('every').notNull(),
    depth: smallint('depth'),
    html: boolean('html').notNull().default(false),
    priority: smallint('priority').notNull(),
    startedAt: instant('started_at').notNull(),
    endedAt: instant('ended_at'),
    firstSlot: instant('first_slot').notNull(),
    lastSlot: instant('last_slot'),
  },
  (t) => [
    check('watch_period_kind_known', sql`kind in ('keyword', 'chart', 'app', 'reviews')`),
    check(
      'watch_period_subject',
      sql`case kind when 'app' then app is not null else target_id is not null end`,
    ),
    check('watch_period_ended_whole', sql`(ended_at is null) = (last_slot is null)`),
    uniqueIndex('watch_period_one_open').on(t.kind, t.watchId).where(sql`ended_at is null`),
    // A constraint only: its condition is on last_slot, which is null when ended_at is, so that no query uses
    // it as an index.
    uniqueIndex('watch_period_target_once').on(t.targetId, t.project).where(sql`last_slot is null`),
    index('watch_period_of_target').on(t.targetId),
    index('watch_period_of_app').on(t.app).where(sql`kind = 'app'`),
    index('watch_period_of_project').on(t.project, t.kind),
    // The slots of an interval are opened by target.
    index('watch_period_of_interval')
      .on(t.every, t.targetId)
      .where(sql`ended_at is null and target_id is not null`),
  ],
)
