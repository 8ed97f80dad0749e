/** A project: the apps and keywords that belong together, with a budget and a time zone of their own. */
import { sql } from 'drizzle-orm'
import { boolean, check, integer, numeric, pgTable, text } from 'drizzle-orm/pg-core'
import { businessNow, instant } from './columns.ts'

export const project = pgTable(
  'project',
  {
    name: text('name').primaryKey(),
    /** By which the ledger names it: a rename touches no row of money. */
    id: integer('id').notNull().unique('project_id_once').generatedAlwaysAsIdentity(),
    timezone: text('timezone').notNull().default('UTC'),
    dailyUsd: numeric('daily_usd', { precision: 14, scale: 6 }),
    monthlyUsd: numeric('monthly_usd', { precision: 14, scale: 6 }),
    enabled: boolean('enabled').notNull().default(true),
    createdAt: instant('created_at').notNull().default(businessNow),
  },
  () => [
    check('project_name_1_to_100_trimmed', sql`char_length(name) between 1 and 100 and name = btrim(name)`),
    check('project_name_without_control_characters', sql`not has_control_characters(name)`),
    check('project_timezone_known', sql`is_timezone(timezone)`),
    // NaN is greater than every number.
    check('project_daily_usd_a_number', sql`daily_usd <> 'NaN'`),
    check('project_daily_usd_not_negative', sql`daily_usd >= 0`),
    check('project_monthly_usd_a_number', sql`monthly_usd <> 'NaN'`),
    check('project_monthly_usd_not_negative', sql`monthly_usd >= 0`),
  ],
)
