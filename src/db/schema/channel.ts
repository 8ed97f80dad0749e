/**
 * Where messages of alerts and digests go. A file of its own, because projects and rules name channels.
 */
import { sql } from 'drizzle-orm'
import { bigint, boolean, integer, pgTable, text } from 'drizzle-orm/pg-core'
import { SECTIONS } from '../../sections.ts'
import { businessNow, instant } from './columns.ts'
import { rulesOf } from './rule.ts'

type Rule = ReturnType<typeof rulesOf>
const ofChannel = rulesOf('alert_channel', ['name'])
const SECTION_NAMES = sql.raw(`array[${SECTIONS.map((name) => `'${name}'`).join(', ')}]`)

const LOOPBACK = '(localhost|127[.][0-9]{1,3}[.][0-9]{1,3}[.][0-9]{1,3}|[[]::1[]])(:[0-9]{1,5})?'
/** As literals of SQL, because a CHECK takes no parameters. */
const WEBHOOK_FORM = sql.raw(`'^(https://[^/?#@[:space:]]+|http://${LOOPBACK})([/?][^[:space:]]*)?$'`)
/** Of RFC 5322, an atom with dots: whoever is called O'Neil has an apostrophe in it. */
const EMAIL = "[A-Za-z0-9.!#$%&''*+/=?^_`{|}~-]+@[A-Za-z0-9-]+([.][A-Za-z0-9-]+)+"
const EMAILS_FORM = sql.raw(`'^${EMAIL}( *, *${EMAIL}){0,19}$'`)

/** What a name, a note and a switch have to be, in both tables that people write. */
export function sharedRules(rule: Rule) {
  return [
    rule(
      'name_1_to_100_trimmed',
      sql`char_length(name) between 1 and 100 and name = btrim(name)`,
      'name',
      'char_length(name)',
    ),
    rule('name_without_control_characters', sql`not has_control_characters(name)`, 'name'),
    rule('note_at_most_10000_characters', sql`char_length(note) <= 10000`, 'note', 'char_length(note)'),
    rule(
      'note_without_control_characters',
      sql`not has_control_characters(translate(note, E'\\t\\r\\n', ''))`,
      'note',
    ),
  ]
}

/** Where messages go. Its secret is the value of an environment variable, which the table names. */
export const alertChannel = pgTable(
  'alert_channel',
  {
    id: bigint('id', { mode: 'number' }).primaryKey().generatedByDefaultAsIdentity(),
    name: text('name').notNull().unique('alert_channel_name_once'),
    kind: text('kind').notNull(),
    address: text('address'),
    secretVariable: text('secret_variable'),
    digest: text('digest').notNull().default('instant'),
    /** Of the project's day, for a digest. */
    hour: integer('hour').notNull().default(8),
    maxLines: integer('max_lines').notNull().default(20),
    /** Attaches the page of the report to a digest by e-mail. */
    report: boolean('report').notNull().default(false),
    /** Sections of the report that its digests leave out. */
    without: text('without').array().notNull().default(sql`'{}'`),
    enabled: boolean('enabled').notNull().default(true),
    note: text('note'),
    /** What was given up since then is sent again when it is set. */
    retryFrom: instant('retry_from'),
    /** When the receiver took a test. */
    testedAt: instant('tested_at'),
    /** What is wrong with its settings, as the job `alerts` sees its environment; or why it was disabled. */
    problemKind: text('problem_kind'),
    problem: text('problem'),
    createdAt: instant('created_at').notNull().default(businessNow),
  },
  () => [
    ...sharedRules(ofChannel),
    ofChannel('kind_of_channel', sql`kind in ('webhook', 'slack', 'teams', 'discord', 'email')`, 'kind'),
    ofChannel(
      'address_of_webhook_and_email',
      sql`kind not in ('webhook', 'slack', 'teams', 'discord', 'email')
        or (address is null) = (kind in ('slack', 'teams', 'discord'))`,
      'kind',
    ),
    ofChannel('webhook_https_unless_loopback', sql`kind <> 'webhook' or address ~ ${WEBHOOK_FORM}`, 'kind'),
    ofChannel('email_1_to_20_addresses', sql`kind <> 'email' or address ~ ${EMAILS_FORM}`, 'address'),
    ofChannel('address_at_most_2000', sql`char_length(address) <= 2000`, 'char_length(address)'),
    ofChannel(
      'secret_of_webhook_and_slack',
      sql`(secret_variable is null) = (kind = 'email')`,
      'secret_variable',
      'kind',
    ),
    ofChannel('secret_variable_form', sql`secret_variable ~ '^ALERT_[A-Z0-9_]{1,100}$'`, 'kind'),
    ofChannel('digest_known', sql`digest in ('instant', 'daily', 'weekly', 'monthly')`, 'digest'),
    ofChannel('without_known_sections', sql`without <@ ${SECTION_NAMES}`, 'without'),
    ofChannel('hour_0_to_23', sql`hour between 0 and 23`, 'hour'),
    ofChannel('max_lines_1_to_40', sql`max_lines between 1 and 40`, 'max_lines'),
    ofChannel(
      'report_only_of_digest_by_email',
      sql`not report or (kind = 'email' and digest <> 'instant')`,
      'kind',
      'digest',
    ),
  ],
)
