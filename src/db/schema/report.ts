/** What people write about ranks: what a rank is worth, notes on days, and ranks that others measured. */
import { sql } from 'drizzle-orm'
import {
  bigint,
  date,
  doublePrecision,
  index,
  integer,
  pgTable,
  primaryKey,
  smallint,
  text,
  uniqueIndex,
} from 'drizzle-orm/pg-core'
import { businessNow, instant } from './columns.ts'
import { project } from './project.ts'
import { APP_ID_FORM, rulesOf } from './rule.ts'

const weightRule = rulesOf('rank_weight', ['curve', 'rank::text'])
const importedRule = rulesOf('imported_rank', ['project', 'day::text', 'source'])
const noteRule = rulesOf('annotation', ['project', 'day::text', 'text'])

/**
 * What a rank is worth, by curve. A rank that a curve does not name is worth nothing. The migration that
 * makes the table fills it.
 */
export const rankWeight = pgTable(
  'rank_weight',
  {
    curve: text('curve').notNull(),
    rank: smallint('rank').notNull(),
    weight: doublePrecision('weight').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.curve, t.rank] }),
    weightRule(
      'curve_1_to_100_trimmed',
      sql`char_length(curve) between 1 and 100 and curve = btrim(curve)`,
      'curve',
      'char_length(curve)',
    ),
    weightRule('curve_without_control_characters', sql`not has_control_characters(curve)`, 'curve'),
    weightRule('rank_1_to_1000', sql`rank between 1 and 1000`, 'rank'),
    // NaN is greater than every number. All is divided by the weight of rank 1.
    weightRule('weight_of_rank_0_to_1000000', sql`weight between 0 and 1000000`, 'weight'),
    weightRule('weight_of_rank_1_positive', sql`rank > 1 or weight > 0`, 'weight'),
  ],
)

/** A note of a project on one of its days, for an app or for all: a campaign, an outage. */
export const annotation = pgTable(
  'annotation',
  {
    id: bigint('id', { mode: 'number' }).primaryKey().generatedByDefaultAsIdentity(),
    project: text('project')
      .notNull()
      .references(() => project.name, { onUpdate: 'cascade' }),
    /** In the time zone of the project. */
    day: date('day').notNull(),
    /** Of either store: the ids of one are numbers, those of the other are not. */
    appId: text('app_id'),
    text: text('text').notNull(),
    createdAt: instant('created_at').notNull().default(businessNow),
  },
  () => [
    noteRule('day_2000_to_2200', sql`day between '2000-01-01' and '2200-01-01'`, 'day'),
    noteRule('app_id_form', APP_ID_FORM, 'app_id'),
    noteRule(
      'text_1_to_1000_trimmed',
      sql`char_length(text) between 1 and 1000 and text = btrim(text)`,
      'text',
      'char_length(text)',
    ),
    noteRule('text_without_control_characters', sql`not has_control_characters(text)`, 'text'),
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
  {
    project: text('project')
      .notNull()
      .references(() => project.name, { onUpdate: 'cascade' }),
    /** Of `target` and of `app`. */
    targetId: integer('target_id').notNull(),
    app: integer('app').notNull(),
    day: date('day').notNull(),
    source: text('source').notNull(),
    rank: smallint('rank').notNull(),
    importedAt: instant('imported_at').notNull().default(businessNow),
  },
  (t) => [
    primaryKey({ columns: [t.project, t.targetId, t.app, t.day, t.source] }),
    importedRule('rank_1_to_1000', sql`rank between 1 and 1000`, 'rank'),
    importedRule('day_2000_to_2200', sql`day between '2000-01-01' and '2200-01-01'`, 'day'),
    importedRule(
      'source_1_to_100_trimmed',
      sql`char_length(source) between 1 and 100 and source = btrim(source)`,
      'source',
      'char_length(source)',
    ),
    index('imported_rank_of_target').on(t.targetId),
  ],
)
