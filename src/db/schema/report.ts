/** What people write about ranks: what a rank is worth, notes on days, and ranks that others measured. */
import { index, pgTable, primaryKey, uniqueIndex } from 'drizzle-orm/pg-core'
import { APP_ID_FORM, businessNow, instant, ownId, parts, rulesOf } from './columns.ts'
import { project } from './project.ts'

/** NaN is greater than every number. All is divided by the weight of rank 1. */
const WEIGHT_RULES = rulesOf(
  'rank_weight',
  'curve, rank::text',
  `
    curve_1_to_100_trimmed (curve; char_length(curve)):
      char_length(curve) between 1 and 100 and curve = btrim(curve)
    curve_without_control_characters (curve): not has_control_characters(curve)
    rank_1_to_1000 (rank): rank between 1 and 1000
    weight_of_rank_0_to_1000000 (weight): weight between 0 and 1000000
    weight_of_rank_1_positive (weight): rank > 1 or weight > 0`,
)
const NOTED_RULES = rulesOf(
  'annotation',
  'project, day::text, text',
  `
    day_2000_to_2200 (day): day between '2000-01-01' and '2200-01-01'
    app_id_form (app_id): ${APP_ID_FORM}
    text_1_to_1000_trimmed (text; char_length(text)):
      char_length(text) between 1 and 1000 and text = btrim(text)
    text_without_control_characters (text): not has_control_characters(text)`,
)
const IMPORTED_RULES = rulesOf(
  'imported_rank',
  'project, day::text, source',
  `
    rank_1_to_1000 (rank): rank between 1 and 1000
    day_2000_to_2200 (day): day between '2000-01-01' and '2200-01-01'
    source_1_to_100_trimmed (source; char_length(source)):
      char_length(source) between 1 and 100 and source = btrim(source)`,
)

/** The migration that makes the table fills it. */
export const rankWeight = pgTable(
  'rank_weight',
  (c) => ({
    curve: c.text().notNull(),
    rank: c.smallint().notNull(),
    weight: c.doublePrecision().notNull(),
  }),
  (t) => [primaryKey({ columns: [t.curve, t.rank] }), ...WEIGHT_RULES],
)

export const annotation = pgTable(
  'annotation',
  (c) => ({
    id: ownId(),
    project: c
      .text()
      .notNull()
      .references(() => project.name, { onUpdate: 'cascade' }),
    day: c.date().notNull(),
    // Of either store: the ids of one are numbers, those of the other are not.
    app_id: c.text(),
    text: c.text().notNull(),
    created_at: instant().notNull().default(businessNow),
  }),
  () => [
    ...NOTED_RULES,
    uniqueIndex('annotation_same_row_twice').on(
      ...parts("project; day; coalesce(app_id, ''); subject_key(text)"),
    ),
  ],
)

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
    ...IMPORTED_RULES,
    index('imported_rank_of_target').on(t.target_id),
  ],
)
