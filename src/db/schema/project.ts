/** A project: the apps and keywords that belong together, with a budget and a time zone of their own. */
import { sql } from 'drizzle-orm'
import { boolean, integer, numeric, pgTable, text } from 'drizzle-orm/pg-core'
import { businessNow, instant } from './columns.ts'
import { rulesOf } from './rule.ts'

const rule = rulesOf('project', ['name'])

export const project = pgTable(
  'project',
  {
    name: text('name').primaryKey(),
    /** By which the ledger names it: a rename touches no row of money. */
    id: integer('id').notNull().unique('project_id_once').generatedAlwaysAsIdentity(),
    timezone: text('timezone').notNull().default('UTC'),
    dailyUsd: numeric('daily_usd'),
    monthlyUsd: numeric('monthly_usd'),
    enabled: boolean('enabled').notNull().default(true),
    createdAt: instant('created_at').notNull().default(businessNow),
  },
  () => [
    rule('name_1_to_100_characters', sql`char_length(name) between 1 and 100`, 'name', 'char_length(name)'),
    rule('name_without_control_characters', sql`not has_control_characters(name)`, 'name'),
    rule('timezone_known', sql`is_timezone(timezone)`, 'timezone'),
    // NaN is greater than every number.
    rule('daily_usd_0_to_99999999', sql`daily_usd between 0 and 99999999`, 'daily_usd'),
    rule('monthly_usd_0_to_99999999', sql`monthly_usd between 0 and 99999999`, 'monthly_usd'),
  ],
)
