/** What people write about ranks: what a rank is worth, notes on days, and ranks that others measured. */
import { sql } from 'drizzle-orm'
import { index, pgTable, primaryKey, uniqueIndex } from 'drizzle-orm/pg-core'
import { APP_ID_FORM, businessNow, instant, ownId, rulesOf } from './columns.ts'
import { project } from './project.ts'

const weightRule = rulesOf('rank_weight', ['curve', 'rank::text'])
const importedRule = rulesOf('imported_rank', ['project', 'day::text', 'source'])
const noteRule = rulesOf('annotation', ['project', 'day::text', 'text'])

/**
 * What a rank is worth, by curve. A rank that a curve does not name is worth nothing. The migration that
 * makes the table fills it.
 */
export const rankWeight = pgTable(
  'rank_weight',
  (c) => ({
    curve: c.text().notNull(),
    rank: c.smallint().notNull(),
    weight: c.doublePrecision().notNull(),
  }),
  (t) => [
    primaryKey({ columns: [t.curve, t.rank] }),
    weightRule.trimmed('curve', 100),
    weightRule.printable('curve'),
    weightRule.between('rank', 1, 1000),
    // NaN is greater than every number. All is divided by the weight of rank 1.
    weightRule('weight_of_rank_0_to_1000000', sql`weight between 0 and 1000000`, 'weight'),
    weightRule('weight_of_rank_1_positive', sql`rank > 1 or weight > 0`, 'weight'),
  ],
)

/** A note of a project on one of its days, for an app or for all: a campaign, an outage. */
export const annotation = pgTable(
  'annotation',
  (c) => ({
    id: ownId(),
    project: c
      .text()
      .notNull()
      .references(() => project.name, { onUpdate: 'cascade' }),
    // In the time zone of the project.
    day: c.date().notNull(),
    // Of either store: the ids of one are numbers, those of the other are not.
    app_id: c.text(),
    text: c.text().notNull(),
    created_at: instant().notNull().default(businessNow),
  }),
  () => [
    noteRule('day_2000_to_2200', sql`day between '2000-01-01' and '2200-01-01'`, 'day'),
    noteRule('app_id_form', APP_ID_FORM, 'app_id'),
    noteRule.trimmed('text', 1000),
    noteRule.printable('text'),
    uniqueIndex('annotation_same_row_twice').on(
      sql`project`,
      sql`day`,
      sql`coalesce(app_id, '')`,
      sql`subject_key(text)`,
    ),
  ],
)

/**
 * A rank that another tool measured on a day of the project, before storerank did or beside it. It is no
 * measurement: nothing is paid for it, and nothing counts it.
 */
export const importedRank = pgTable(
  'imported_rank',
  (c) => ({
    project: c
      .text()
      .notNull()
      .references(() => project.name, { onUpdate: 'cascade' }),
    // Of `target` and of `app`.
    target_id: c.integer().notNull(),
    app: c.integer().notNull(),
    day: c.date().notNull(),
    source: c.text().notNull(),
    rank: c.smallint().notNull(),
    imported_at: instant().notNull().default(businessNow),
  }),
  (t) => [
    primaryKey({ columns: [t.project, t.target_id, t.app, t.day, t.source] }),
    importedRule.between('rank', 1, 1000),
    importedRule('day_2000_to_2200', sql`day between '2000-01-01' and '2200-01-01'`, 'day'),
    importedRule.trimmed('source', 100),
    index('imported_rank_of_target').on(t.target_id),
  ],
)
