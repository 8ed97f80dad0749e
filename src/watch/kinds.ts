/** The three kinds of watches, as files have them. */
import type { SqlRunner } from '../db/database.ts'

const SETTINGS = ['every', 'priority', 'enabled', 'tags', 'note', 'html'] as const
const PLACE = ['location_code', 'location_name', 'language_code'] as const

/** `subject` is the column by which a row of a file is known to be such a watch; `unique` is what their unique index is of. */
export const WATCHES = [
  {
    table: 'keyword_watch',
    subject: 'keyword',
    identity: ['project', 'store', 'keyword', ...PLACE],
    unique: (sql: SqlRunner) => sql`
      project, store, subject_key(keyword), coalesce(location_code, 0), lower(coalesce(location_name, '') collate "C"), language_code`,
    settings: [...SETTINGS, 'depth', 'weight'],
  },
  {
    table: 'app_watch',
    subject: 'app_id',
    identity: ['project', 'store', 'app_id', ...PLACE],
    unique: (sql: SqlRunner) => sql`
      project, store, app_id, coalesce(location_code, 0), lower(coalesce(location_name, '') collate "C"), coalesce(language_code, '')`,
    settings: [...SETTINGS, 'label', 'role', 'info', 'reviews', 'reviews_depth'],
  },
  {
    table: 'chart_watch',
    subject: 'collection',
    identity: ['project', 'store', 'collection', 'category', ...PLACE],
    unique: (sql: SqlRunner) => sql`
      project, store, collection, coalesce(category, ''), coalesce(location_code, 0), lower(coalesce(location_name, '') collate "C"),
      language_code`,
    settings: [...SETTINGS, 'depth'],
  },
] as const
export type Watch = (typeof WATCHES)[number]
