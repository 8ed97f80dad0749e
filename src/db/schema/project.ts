/** A project: the apps and keywords that belong together, with a budget and a time zone of their own. */
import { sql } from 'drizzle-orm'
import { pgTable, primaryKey } from 'drizzle-orm/pg-core'
import { alertChannel } from './channel.ts'
import { businessNow, instant, rulesOf } from './columns.ts'

const rule = rulesOf('project', ['name'])

export const project = pgTable(
  'project',
  (c) => ({
    name: c.text().primaryKey(),
    // By which the ledger names it: a rename touches no row of money.
    id: c.integer().notNull().unique('project_id_once').generatedAlwaysAsIdentity(),
    timezone: c.text().notNull().default('UTC'),
    daily_usd: c.numeric(),
    monthly_usd: c.numeric(),
    enabled: c.boolean().notNull().default(true),
    // To which digests of the project go, also without any rule.
    digest_channel: c.text().references(() => alertChannel.name, { onUpdate: 'cascade' }),
    // Instead of KEEP_HISTORY and KEEP_PAGES. What several projects asked for is kept as long as one of them
    // wants.
    keep_history: c.interval(),
    keep_pages: c.interval(),
    created_at: instant().notNull().default(businessNow),
  }),
  () => [
    rule.sized('name', 100, '_characters'),
    rule.printable('name'),
    rule('timezone_known', sql`is_timezone(timezone)`, 'timezone'),
    rule.between('daily_usd', 0, 99_999_999),
    rule.between('monthly_usd', 0, 99_999_999),
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
  (c) => ({
    project_id: c.integer().notNull(),
    since: instant().notNull(),
    timezone: c.text().notNull(),
  }),
  (t) => [primaryKey({ columns: [t.project_id, t.since] })],
)
