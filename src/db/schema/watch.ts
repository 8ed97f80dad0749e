/**
 * The watches that people write. Every rule that the specification states on a watch is a CHECK that says
 * what was given and what is allowed (spec: Task posting, Limits). Whole numbers that people write are
 * bigints, so that one that is far too large meets its rule, and not the range of its type, of which
 * PostgreSQL says neither column nor value.
 */
import { sql } from 'drizzle-orm'
import { boolean, check, index, interval, pgTable, text, uniqueIndex } from 'drizzle-orm/pg-core'
import { businessNow, instant, ownId, type Rules, rulesOf, whole } from './columns.ts'

/** As a literal of SQL, because a CHECK takes no parameters. */
const UNSUPPORTED_COUNTRY = sql.raw(String.raw`'(^|,)\s*(russia|russian federation|belarus)\s*$'`)

/** What all watches have. */
const watchColumns = () => ({
  id: ownId(),
  project: text().notNull(),
  location_code: whole(),
  location_name: text(),
  html: boolean().notNull().default(false),
  every: interval().notNull().default('1 day'),
  priority: whole().notNull().default(1),
  enabled: boolean().notNull().default(true),
  tags: text().array().notNull().default([]),
  note: text(),
  created_at: instant().notNull().default(businessNow),
})

/** Where there is no such store, that alone is said. */
const inStore = (condition: string) =>
  sql.raw(`store not in ('ios_store', 'android_store') or (${condition})`)

/**
 * Names of places are compared without regard to case in the collation "C", because that of the database may
 * be Turkish, where I is not the capital of i.
 */
function watchRules(rule: Rules) {
  return [
    rule('store_known', sql`store in ('ios_store', 'android_store')`, 'store'),
    rule('location_code_positive', sql`location_code between 1 and 2147483647`, 'location_code'),
    rule.sized('location_name', 200),
    rule.printable('location_name'),
    rule(
      'location_country_supported',
      sql`location_code not in (2643, 2112) and location_name collate "C" !~* ${UNSUPPORTED_COUNTRY}`,
      'coalesce(location_name, location_code::text)',
    ),
    rule(
      'at_most_one_location',
      sql`num_nonnulls(location_code, location_name) <= 1`,
      'location_code',
      'location_name',
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
    ...rule.note(),
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

/** Of searches and charts, which are asked for in a place. */
const placedRules = (rule: Rules) => [
  ...watchRules(rule),
  rule('location_name_missing', sql`num_nonnulls(location_code, location_name) > 0`, 'location_name'),
  rule('html_only_of_android_store', inStore("not html or store = 'android_store'"), 'store'),
]

/** Rows are the same whatever the case of their place is. */
const SAME_PLACE = [
  sql`coalesce(location_code, 0)`,
  sql`lower(coalesce(location_name, '') collate "C")`,
] as const

const keywordRule = rulesOf('keyword_watch', ['project', 'store', 'keyword'])
const appRule = rulesOf('app_watch', ['project', 'store', 'app_id'])
const chartRule = rulesOf('chart_watch', ['project', 'collection', 'category'])

export const keywordWatch = pgTable(
  'keyword_watch',
  (c) => ({
    ...watchColumns(),
    store: c.text().notNull(),
    keyword: c.text().notNull(),
    language_code: c.text().notNull(),
    depth: whole().notNull(),
    // What the keyword is worth beside the others of its project, in visibility and share of voice. Where
    // none is given its volume counts, and 1 where there is none either.
    weight: c.doublePrecision(),
    // Searches in a month, or any other measure of them, from whichever tool.
    volume: whole(),
  }),
  () => [
    ...placedRules(keywordRule),
    // Each `%` and each `+` counts three (spec: Task posting).
    keywordRule(
      'keyword_1_to_700_as_posted',
      sql`char_length(replace(replace(keyword, '%', '%25'), '+', '%2B')) between 1 and 700`,
      'keyword',
      "char_length(replace(replace(keyword, '%', '%25'), '+', '%2B'))",
    ),
    keywordRule.printable('keyword'),
    keywordRule(
      'depth_1_to_maximum_of_function',
      inStore(`depth between 1 and case store when 'ios_store' then 700 else 200 end`),
      'depth',
    ),
    keywordRule.between('weight', 0, 1_000_000),
    keywordRule.between('volume', 0, 1_000_000_000),
    uniqueIndex('keyword_watch_same_row_twice').on(
      sql`project`,
      sql`store`,
      // A keyword of 700 characters may be longer than an entry of an index.
      sql`subject_key(keyword)`,
      ...SAME_PLACE,
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
  (c) => ({
    ...watchColumns(),
    store: c.text().notNull(),
    app_id: c.text().notNull(),
    label: c.text(),
    role: c.text().notNull().default('own'),
    language_code: c.text(),
    info: c.boolean().notNull().default(false),
    reviews: c.boolean().notNull().default(false),
    reviews_depth: whole().notNull(),
  }),
  () => [
    ...watchRules(appRule),
    appRule(
      'app_id_form_by_store',
      inStore(`case store
        when 'ios_store' then app_id ~ '^[1-9][0-9]{2,18}$'
        else app_id ~ '^[A-Za-z][A-Za-z0-9_]*([.][A-Za-z0-9_]+)+$' and char_length(app_id) <= 255 end`),
      'app_id',
      'store',
    ),
    appRule.sized('label', 200),
    appRule.printable('label'),
    appRule('role_own_or_competitor', sql`role in ('own', 'competitor')`, 'role'),
    appRule(
      'info_needs_location_and_language',
      sql`not info or (num_nonnulls(location_code, location_name) = 1 and language_code is not null)`,
      'info',
    ),
    appRule(
      'html_only_with_info_or_reviews_of_android_store',
      inStore(`not html or ((info or reviews) and store = 'android_store')`),
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
      inStore(`reviews_depth between 1 and case store when 'ios_store' then 500 else 10000 end`),
      'reviews_depth',
    ),
    uniqueIndex('app_watch_same_row_twice').on(
      sql`project`,
      sql`store`,
      sql`app_id`,
      ...SAME_PLACE,
      sql`coalesce(language_code, '')`,
    ),
  ],
)

/**
 * A chart: the apps of a collection of a store, on which every app of the project in that store is ranked.
 */
export const chartWatch = pgTable(
  'chart_watch',
  (c) => ({
    ...watchColumns(),
    store: c.text().notNull().default('android_store'),
    collection: c.text().notNull(),
    category: c.text(),
    // For whom the apps are, in the category family of android_store.
    age_rating: c.text(),
    language_code: c.text().notNull(),
    depth: whole().notNull().default(100),
  }),
  () => [
    ...placedRules(chartRule),
    chartRule.sized('collection', 255, '_characters'),
    chartRule.printable('collection'),
    chartRule.sized('category', 255, '_characters'),
    chartRule.printable('category'),

    chartRule('age_rating_known', sql`age_rating in ('ages_up_to_5', 'ages_6_8', 'ages_9_12')`, 'age_rating'),
    chartRule(
      'age_rating_only_of_family_of_android_store',
      inStore(`age_rating is null or (store = 'android_store' and coalesce(category, '') = 'family')`),
      'age_rating',
      'category',
      'store',
    ),
    chartRule(
      'depth_1_to_maximum_of_chart',
      inStore(`depth between 1 and case store when 'ios_store' then 1000 else 200 end`),
      'depth',
    ),
    uniqueIndex('chart_watch_same_row_twice').on(
      sql`project`,
      sql`store`,
      sql`collection`,
      sql`coalesce(category, '')`,
      sql`coalesce(age_rating, '')`,
      ...SAME_PLACE,
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
  (c) => ({
    id: whole().primaryKey().generatedAlwaysAsIdentity(),
    kind: c.text().notNull(),
    watch_id: whole().notNull(),
    project: c.text().notNull(),
    // Of `target` and of `app`. No foreign keys: triggers write it from rows that are never deleted, and each
    // check would cost as much as a row.
    target_id: c.integer(),
    app: c.integer(),
    role: c.text(),
    label: c.text(),
    every: c.interval().notNull(),
    depth: c.smallint(),
    html: c.boolean().notNull().default(false),
    priority: c.smallint().notNull(),
    started_at: instant().notNull(),
    ended_at: instant(),
    first_slot: instant().notNull(),
    last_slot: instant(),
  }),
  (t) => [
    check('watch_period_kind_known', sql`kind in ('keyword', 'chart', 'app', 'reviews')`),
    check(
      'watch_period_subject',
      sql`case kind when 'app' then app is not null else target_id is not null end`,
    ),
    check('watch_period_ended_whole', sql`(ended_at is null) = (last_slot is null)`),
    uniqueIndex('watch_period_one_open').on(t.kind, t.watch_id).where(sql`ended_at is null`),
    // A constraint only: its condition is on last_slot, which is null when ended_at is, so that no query uses
    // it as an index.
    uniqueIndex('watch_period_target_once').on(t.target_id, t.project).where(sql`last_slot is null`),
    index('watch_period_of_target').on(t.target_id),
    index('watch_period_of_app').on(t.app).where(sql`kind = 'app'`),
    index('watch_period_of_project').on(t.project, t.kind),
    // The slots of an interval are opened by target.
    index('watch_period_of_interval')
      .on(t.every, t.target_id)
      .where(sql`ended_at is null and target_id is not null`),
  ],
)
