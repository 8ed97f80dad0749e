/**
 * A project: the apps and keywords that belong together, with a budget and a time zone of their own; and the
 * channels where messages of alerts and digests go.
 */
import { sql } from 'drizzle-orm'
import { pgTable, primaryKey } from 'drizzle-orm/pg-core'
import { SECTIONS } from '../../sections.ts'
import { businessNow, instant, NAME_RULES, NOTE_RULES, ownId, rulesOf } from './columns.ts'

const LOOPBACK = '(localhost|127[.][0-9]{1,3}[.][0-9]{1,3}[.][0-9]{1,3}|[[]::1[]])(:[0-9]{1,5})?'
/** Of RFC 5322, an atom with dots: whoever is called O'Neil has an apostrophe in it. */
const EMAIL = "[A-Za-z0-9.!#$%&''*+/=?^_`{|}~-]+@[A-Za-z0-9-]+([.][A-Za-z0-9-]+)+"

const CHANNEL_RULES = rulesOf(
  'alert_channel',
  'name',
  `${NAME_RULES}${NOTE_RULES}
    kind_of_channel (kind): kind in ('webhook', 'slack', 'teams', 'discord', 'email')
    address_of_webhook_and_email (kind): kind not in ('webhook', 'slack', 'teams', 'discord', 'email')
        or (address is null) = (kind in ('slack', 'teams', 'discord'))
    webhook_https_unless_loopback (kind):
      kind <> 'webhook' or address ~ '^(https://[^/?#@[:space:]]+|http://${LOOPBACK})([/?][^[:space:]]*)?$'
    email_1_to_20_addresses (address): kind <> 'email' or address ~ '^${EMAIL}( *, *${EMAIL}){0,19}$'
    address_at_most_2000 (char_length(address)): char_length(address) <= 2000
    secret_of_webhook_and_slack (secret_variable; kind): (secret_variable is null) = (kind = 'email')
    secret_variable_form (kind): secret_variable ~ '^ALERT_[A-Z0-9_]{1,100}$'
    digest_known (digest): digest in ('instant', 'daily', 'weekly', 'monthly')
    without_known_sections (without): without <@ array[${SECTIONS.map((name) => `'${name}'`).join(', ')}]
    hour_0_to_23 (hour): hour between 0 and 23
    max_lines_1_to_40 (max_lines): max_lines between 1 and 40
    report_only_of_digest_by_email (kind; digest): not report or (kind = 'email' and digest <> 'instant')`,
)

/** NaN is greater than every number. */
const PROJECT_RULES = rulesOf(
  'project',
  'name',
  `
    name_1_to_100_characters (name; char_length(name)): char_length(name) between 1 and 100
    name_without_control_characters (name): not has_control_characters(name)
    timezone_known (timezone): is_timezone(timezone)
    daily_usd_0_to_99999999 (daily_usd): daily_usd between 0 and 99999999
    monthly_usd_0_to_99999999 (monthly_usd): monthly_usd between 0 and 99999999
    keep_history_92_days_to_1000_years (keep_history): keep_history between '92 days' and '1000 years'
    keep_pages_0_to_1000_years (keep_pages): keep_pages between '0 days' and '1000 years'`,
)

export const alertChannel = pgTable(
  'alert_channel',
  (c) => ({
    id: ownId(),
    name: c.text().notNull().unique('alert_channel_name_once'),
    kind: c.text().notNull(),
    address: c.text(),
    secret_variable: c.text(),
    digest: c.text().notNull().default('instant'),
    hour: c.integer().notNull().default(8),
    max_lines: c.integer().notNull().default(20),
    report: c.boolean().notNull().default(false),
    without: c.text().array().notNull().default(sql`'{}'`),
    enabled: c.boolean().notNull().default(true),
    note: c.text(),
    retry_from: instant(),
    tested_at: instant(),
    // As the job `alerts` sees its environment; or why it was disabled.
    problem_kind: c.text(),
    problem: c.text(),
    created_at: instant().notNull().default(businessNow),
  }),
  () => CHANNEL_RULES,
)

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
    digest_channel: c.text().references(() => alertChannel.name, { onUpdate: 'cascade' }),
    keep_history: c.interval(),
    keep_pages: c.interval(),
    created_at: instant().notNull().default(businessNow),
  }),
  () => PROJECT_RULES,
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
