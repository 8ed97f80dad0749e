/** A project: the apps and keywords that belong together, with a budget and a time zone of their own. */
import { sql } from 'drizzle-orm'
import { boolean, integer, interval, numeric, pgTable, primaryKey, text } from 'drizzle-orm/pg-core'
import { alertChannel } from './channel.ts'
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
    /** To which digests of the project go, also without any rule. */
    digestChannel: text('digest_channel').references(() => alertChannel.name, { onUpdate: 'cascade' }),
    /**
     * Instead of KEEP_HISTORY and KEEP_PAGES. What several projects asked for is kept as long as one of them
     * wants.
     */
    keepHistory: interval('keep_history'),
    keepPages: interval('keep_pages'),
    createdAt: instant('created_at').notNull().default(businessNow),
  },
  () => [
    rule('name_1_to_100_characters', sql`char_length(name) between 1 and 100`, 'name', 'char_length(name)'),
    rule('name_without_control_characters', sql`not has_control_characters(name)`, 'name'),
    rule('timezone_known', sql`is_timezone(timezone)`, 'timezone'),
    // NaN is greater than every number.
    rule('daily_usd_0_to_99999999', sql`daily_usd between 0 and 99999999`, 'daily_usd'),
    rule('monthly_usd_0_to_99999999', sql`monthly_usd between 0 and 99999999`, 'monthly_usd'),
    rule(
      'keep_history_92_days_to_1000_years',
      sql`keep_history between '92 days' and '1000 years'`,
      'keep_history',
    ),
    rule('keep_pages_0_to_1000_years', sql`keep_pages between '0 days' and '1000 years'`, 'keep_pages'),
  ],
)

/**
 * By which time zone the days of a project's money go, and since when. A change of `project.timezone` is a
 * new row that begins later than any money that is being moved, so the day of an instant never changes. Kept
 * when the project is deleted, as its money is.
 */
export const moneyZone = pgTable(
  'money_zone',
  {
    projectId: integer('project_id').notNull(),
    since: instant('since').notNull(),
    timezone: text('timezone').notNull(),
  },
  (t) => [primaryKey({ columns: [t.projectId, t.since] })],
)
