/**
 * The watches that people write. Every rule that the specification states on a watch is a CHECK that says
 * what was given and what is allowed (spec: Task posting, Limits). Whole numbers that people write are
 * bigints, so that one that is far too large meets its rule, and not the range of its type, of which
 * PostgreSQL says neither column nor value.
 */
import { sql } from 'drizzle-orm'
import { boolean, check, index, interval, pgTable, text, uniqueIndex } from 'drizzle-orm/pg-core'
import { businessNow, instant, NOTE_RULES, ownId, parts, rulesOf, whole } from './columns.ts'

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

const UNSUPPORTED_COUNTRY = String.raw`'(^|,)\s*(russia|russian federation|belarus)\s*$'`

/** Where there is no such store, that alone is said. */
const IN_STORE = "store not in ('ios_store', 'android_store') or"

/**
 * Names of places are compared without regard to case in the collation "C", because that of the database may
 * be Turkish, where I is not the capital of i. Most rows have no tags, and a function with a query in it is
 * slow.
 */
const COMMON_RULES = `
    store_known (store): store in ('ios_store', 'android_store')
    location_code_positive (location_code): location_code between 1 and 2147483647
    location_name_1_to_200 (location_name; char_length(location_name)):
      char_length(location_name) between 1 and 200
    location_name_without_control_characters (location_name): not has_control_characters(location_name)
    location_country_supported (coalesce(location_name, location_code::text)):
      location_code not in (2643, 2112) and location_name collate "C" !~* ${UNSUPPORTED_COUNTRY}
    at_most_one_location (location_code; location_name): num_nonnulls(location_code, location_name) <= 1
    language_code_form (language_code): language_code ~ '^[a-z]{2,3}(-[A-Za-z0-9]{2,8}){0,4}$'
    priority_1_or_2 (priority): priority in (1, 2)
    tags_at_most_50 (cardinality(tags)): cardinality(tags) <= 50
    tags_of_1_to_100_characters (tags): tags = '{}' or have_length(tags, 1, 100)
    tags_without_control_characters (tags):
      tags = '{}' or not has_control_characters(array_to_string(tags, ''))${NOTE_RULES}
    every_1_2_3_4_6_8_12_hours_or_1_to_31_days (every):
      every = '1 day' or (extract(year from every) = 0 and extract(month from every) = 0
        and (extract(epoch from every) in (3600, 7200, 10800, 14400, 21600, 28800, 43200)
          or (mod(extract(epoch from every), 86400) = 0 and extract(epoch from every) between 86400
            and 2678400)))`

/** Of searches and charts, which are asked for in a place. */
const PLACED_RULES = `${COMMON_RULES}
    location_name_missing (location_name): num_nonnulls(location_code, location_name) > 0
    html_only_of_android_store (store): ${IN_STORE} (not html or store = 'android_store')`

/** As it is posted: each % and each + counts three (spec: Task posting). */
const POSTED_LENGTH = "char_length(replace(replace(keyword, '%', '%25'), '+', '%2B'))"
const KEYWORD_RULES = rulesOf(
  'keyword_watch',
  'project, store, keyword',
  `${PLACED_RULES}
    keyword_1_to_700_as_posted (keyword; ${POSTED_LENGTH}): ${POSTED_LENGTH} between 1 and 700
    keyword_without_control_characters (keyword): not has_control_characters(keyword)
    depth_1_to_maximum_of_function (depth):
      ${IN_STORE} (depth between 1 and case store when 'ios_store' then 700 else 200 end)
    weight_0_to_1000000 (weight): weight between 0 and 1000000
    volume_0_to_1000000000 (volume): volume between 0 and 1000000000`,
)

/**
 * The android_store gives up to 100,000 reviews, which is more than an answer may hold that a runner reads
 * (docs/service.md: reviews of the android_store).
 */
const APP_RULES = rulesOf(
  'app_watch',
  'project, store, app_id',
  `${COMMON_RULES}
    app_id_form_by_store (app_id; store): ${IN_STORE} (case store
        when 'ios_store' then app_id ~ '^[1-9][0-9]{2,18}$'
        else app_id ~ '^[A-Za-z][A-Za-z0-9_]*([.][A-Za-z0-9_]+)+$' and char_length(app_id) <= 255 end)
    label_1_to_200 (label; char_length(label)): char_length(label) between 1 and 200
    label_without_control_characters (label): not has_control_characters(label)
    role_own_or_competitor (role): role in ('own', 'competitor')
    info_needs_location_and_language (info):
      not info or (num_nonnulls(location_code, location_name) = 1 and language_code is not null)
    html_only_with_info_or_reviews_of_android_store (info; reviews; store):
      ${IN_STORE} (not html or ((info or reviews) and store = 'android_store'))
    reviews_need_location_and_language (reviews):
      not reviews or (num_nonnulls(location_code, location_name) = 1 and language_code is not null)
    reviews_depth_1_to_maximum (reviews_depth):
      ${IN_STORE} (reviews_depth between 1 and case store when 'ios_store' then 500 else 10000 end)`,
)

const CHART_RULES = rulesOf(
  'chart_watch',
  'project, collection, category',
  `${PLACED_RULES}
    collection_1_to_255_characters (collection; char_length(collection)):
      char_length(collection) between 1 and 255
    collection_without_control_characters (collection): not has_control_characters(collection)
    category_1_to_255_characters (category; char_length(category)): char_length(category) between 1 and 255
    category_without_control_characters (category): not has_control_characters(category)
    age_rating_known (age_rating): age_rating in ('ages_up_to_5', 'ages_6_8', 'ages_9_12')
    age_rating_only_of_family_of_android_store (age_rating; category; store):
      ${IN_STORE} (age_rating is null or (store = 'android_store' and coalesce(category, '') = 'family'))
    depth_1_to_maximum_of_chart (depth):
      ${IN_STORE} (depth between 1 and case store when 'ios_store' then 1000 else 200 end)`,
)

/** Rows are the same whatever the case of their place is. */
const SAME_PLACE = `coalesce(location_code, 0); lower(coalesce(location_name, '') collate "C")`

export const keywordWatch = pgTable(
  'keyword_watch',
  (c) => ({
    ...watchColumns(),
    store: c.text().notNull(),
    keyword: c.text().notNull(),
    language_code: c.text().notNull(),
    depth: whole().notNull(),
    weight: c.doublePrecision(),
    volume: whole(),
  }),
  () => [
    ...KEYWORD_RULES,
    // A keyword of 700 characters may be longer than an entry of an index.
    uniqueIndex('keyword_watch_same_row_twice').on(
      ...parts(`project; store; subject_key(keyword); ${SAME_PLACE}; language_code`),
    ),
    // Spellings that another one keeps from being followed.
    index('keyword_watch_with_capitals')
      .on(...parts('project; subject_key(folded_subject(keyword))'))
      .where(sql`keyword <> folded_subject(keyword)`),
    // watch_problem finds by it which places there are, and the watches of one.
    index('keyword_watch_of_place').on(
      ...parts("store; coalesce(location_code, 0); coalesce(location_name, ''); language_code"),
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
    ...APP_RULES,
    uniqueIndex('app_watch_same_row_twice').on(
      ...parts(`project; store; app_id; ${SAME_PLACE}; coalesce(language_code, '')`),
    ),
  ],
)

export const chartWatch = pgTable(
  'chart_watch',
  (c) => ({
    ...watchColumns(),
    store: c.text().notNull().default('android_store'),
    collection: c.text().notNull(),
    category: c.text(),
    age_rating: c.text(),
    language_code: c.text().notNull(),
    depth: whole().notNull().default(100),
  }),
  () => [
    ...CHART_RULES,
    uniqueIndex('chart_watch_same_row_twice').on(
      ...parts(`project; store; collection; coalesce(category, ''); coalesce(age_rating, ''); ${SAME_PLACE};
        language_code`),
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
