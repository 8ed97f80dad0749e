/**
 * Where messages of alerts and digests go. A file of its own, because projects and rules name channels.
 */
import { sql } from 'drizzle-orm'
import { pgTable } from 'drizzle-orm/pg-core'
import { SECTIONS } from '../../sections.ts'
import { businessNow, instant, ownId, rulesOf } from './columns.ts'

const rule = rulesOf('alert_channel', ['name'])
const SECTION_NAMES = sql.raw(`array[${SECTIONS.map((name) => `'${name}'`).join(', ')}]`)

const LOOPBACK = '(localhost|127[.][0-9]{1,3}[.][0-9]{1,3}[.][0-9]{1,3}|[[]::1[]])(:[0-9]{1,5})?'
/** As literals of SQL, because a CHECK takes no parameters. */
const WEBHOOK_FORM = sql.raw(`'^(https://[^/?#@[:space:]]+|http://${LOOPBACK})([/?][^[:space:]]*)?$'`)
/** Of RFC 5322, an atom with dots: whoever is called O'Neil has an apostrophe in it. */
const EMAIL = "[A-Za-z0-9.!#$%&''*+/=?^_`{|}~-]+@[A-Za-z0-9-]+([.][A-Za-z0-9-]+)+"
const EMAILS_FORM = sql.raw(`'^${EMAIL}( *, *${EMAIL}){0,19}$'`)

/** Where messages go. Its secret is the value of an environment variable, which the table names. */
export const alertChannel = pgTable(
  'alert_channel',
  (c) => ({
    id: ownId(),
    name: c.text().notNull().unique('alert_channel_name_once'),
    kind: c.text().notNull(),
    address: c.text(),
    secret_variable: c.text(),
    digest: c.text().notNull().default('instant'),
    // Of the project's day, for a digest.
    hour: c.integer().notNull().default(8),
    max_lines: c.integer().notNull().default(20),
    // Attaches the page of the report to a digest by e-mail.
    report: c.boolean().notNull().default(false),
    // Sections of the report that its digests leave out.
    without: c.text().array().notNull().default(sql`'{}'`),
    enabled: c.boolean().notNull().default(true),
    note: c.text(),
    // What was given up since then is sent again when it is set.
    retry_from: instant(),
    // When the receiver took a test.
    tested_at: instant(),
    // What is wrong with its settings, as the job `alerts` sees its environment; or why it was disabled.
    problem_kind: c.text(),
    problem: c.text(),
    created_at: instant().notNull().default(businessNow),
  }),
  () => [
    rule.trimmed('name', 100),
    rule.printable('name'),
    ...rule.note(),
    rule('kind_of_channel', sql`kind in ('webhook', 'slack', 'teams', 'discord', 'email')`, 'kind'),
    rule(
      'address_of_webhook_and_email',
      sql`kind not in ('webhook', 'slack', 'teams', 'discord', 'email')
        or (address is null) = (kind in ('slack', 'teams', 'discord'))`,
      'kind',
    ),
    rule('webhook_https_unless_loopback', sql`kind <> 'webhook' or address ~ ${WEBHOOK_FORM}`, 'kind'),
    rule('email_1_to_20_addresses', sql`kind <> 'email' or address ~ ${EMAILS_FORM}`, 'address'),
    rule('address_at_most_2000', sql`char_length(address) <= 2000`, 'char_length(address)'),
    rule(
      'secret_of_webhook_and_slack',
      sql`(secret_variable is null) = (kind = 'email')`,
      'secret_variable',
      'kind',
    ),
    rule('secret_variable_form', sql`secret_variable ~ '^ALERT_[A-Z0-9_]{1,100}$'`, 'kind'),
    rule('digest_known', sql`digest in ('instant', 'daily', 'weekly', 'monthly')`, 'digest'),
    rule('without_known_sections', sql`without <@ ${SECTION_NAMES}`, 'without'),
    rule.between('hour', 0, 23),
    rule.between('max_lines', 1, 40),
    rule(
      'report_only_of_digest_by_email',
      sql`not report or (kind = 'email' and digest <> 'instant')`,
      'kind',
      'digest',
    ),
  ],
)
