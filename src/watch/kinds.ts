/** The kinds of watches, and of what alerts are made of, as files have them. */
import { sql } from '../db/sql.ts'

export const LISTS: readonly string[] = ['tags', 'without']
const columns = (names: string): readonly string[] => names.split(' ')
const SETTINGS = ['every', 'priority', 'enabled', 'tags', 'note', 'html'] as const
const PLACE_KEY = sql`coalesce(location_code, 0), lower(coalesce(location_name, '') collate "C")`
const PLACE = ['location_code', 'location_name', 'language_code'] as const

/**
 * `subject` is the column by which a row of a file is known to be such a watch, and `key` the same column of
 * the table; `unique` is what their unique index is of.
 */
export const WATCHES = [
  {
    table: 'keyword_watch',
    subject: 'keyword',
    key: 'keyword',
    identity: ['project', 'store', 'keyword', ...PLACE],
    unique: sql`project, store, subject_key(keyword), ${PLACE_KEY}, language_code`,
    settings: [...SETTINGS, 'depth', 'weight', 'volume'],
  },
  {
    table: 'app_watch',
    subject: 'app_id',
    key: 'app_id',
    identity: ['project', 'store', 'app_id', ...PLACE],
    unique: sql`project, store, app_id, ${PLACE_KEY}, coalesce(language_code, '')`,
    settings: [...SETTINGS, 'label', 'role', 'info', 'reviews', 'reviews_depth'],
  },
  {
    table: 'chart_watch',
    subject: 'collection',
    key: 'collection',
    identity: ['project', 'store', 'collection', 'category', 'age_rating', ...PLACE],
    unique: sql`
      project, store, collection, coalesce(category, ''), coalesce(age_rating, ''), ${PLACE_KEY},
      language_code`,
    settings: [...SETTINGS, 'depth'],
  },
] as const

/**
 * Channels first, because rules name them. A row with a rule in it is one, and one with a channel alone is
 * that channel.
 */
export const ALERTS = [
  {
    table: 'alert_channel',
    subject: 'channel',
    key: 'name',
    identity: ['name'],
    unique: sql`name`,
    settings: columns('kind address secret_variable digest hour max_lines report without enabled note'),
  },
  {
    table: 'alert_rule',
    subject: 'rule',
    key: 'name',
    identity: ['project', 'name'],
    unique: sql`project, name`,
    settings: columns(
      'kind store app_id role keyword tag direction threshold threshold_11_to_30 threshold_beyond top ' +
        'compared_with base window_days channel severity cooldown enabled note',
    ),
  },
] as const

export const HISTORY = {
  table: 'imported_rank',
  subject: 'keyword',
  key: 'keyword',
  identity: ['project', 'store', 'keyword', ...PLACE, 'app_id', 'day', 'source'],
  unique: sql`project, target_id, app, day, source`,
  settings: ['rank'],
} as const

export type Watch = (typeof WATCHES)[number] | (typeof ALERTS)[number] | typeof HISTORY

/** The columns of a file for it, in their order. */
export function fileColumnsOf({ subject, key, identity, settings }: Watch): readonly string[] {
  return [...identity, ...settings].map((name) => (name === key ? subject : name))
}
