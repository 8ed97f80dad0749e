/**
 * Alerts: the rules and channels that people write, the events that rules found, and the messages that tell
 * them. Every mistake in a rule or a channel is refused at the INSERT, by a CHECK with a telling name.
 */
import { sql } from 'drizzle-orm'
import { check, index, pgTable, uniqueIndex } from 'drizzle-orm/pg-core'
import {
  APP_ID_FORM,
  businessNow,
  clock,
  instant,
  NAME_RULES,
  NOTE_RULES,
  ownId,
  rulesOf,
  uuidV7,
  whole,
} from './columns.ts'
import { alertChannel, project } from './project.ts'

/** What a rule is about, from where on it is told, what is compared, how grave it is, and how often. */
const RULES = rulesOf(
  'alert_rule',
  'project, name',
  `${NAME_RULES}${NOTE_RULES}
    store_known (store): store in ('ios_store', 'android_store')
    app_id_form (app_id): ${APP_ID_FORM}
    role_own_competitor_or_any (role): role in ('own', 'competitor', 'any')
    keyword_1_to_700 (keyword; char_length(keyword)): char_length(keyword) between 1 and 700
    tag_1_to_100 (tag; char_length(tag)): char_length(tag) between 1 and 100
    direction_any_up_or_down (direction): direction in ('any', 'up', 'down')
    bands_1_to_1000 (threshold_11_to_30; threshold_beyond): coalesce(threshold_11_to_30, 1) between 1 and 1000
        and coalesce(threshold_beyond, 1) between 1 and 1000
    top_1_to_1000 (top): top between 1 and 1000
    compared_with_known (compared_with): compared_with in ('1 day', '7 days', '30 days', 'best', 'base')
    base_where_compared_with_base (base; compared_with): (base is null) = (compared_with <> 'base')
    base_1_to_1000 (base): base between 1 and 1000
    window_days_only_of_best (window_days; compared_with): window_days is null or compared_with = 'best'
    window_days_2_to_400 (window_days): window_days between 2 and 400
    severity_known (severity): severity in ('info', 'warning', 'critical')
    cooldown_0_to_366_days (cooldown): extract(year from cooldown) = 0 and extract(month from cooldown) = 0
        and extract(epoch from cooldown) between 0 and 31622400`,
)

export const alertRule = pgTable(
  'alert_rule',
  (c) => ({
    id: ownId(),
    project: c
      .text()
      .notNull()
      .references(() => project.name, { onUpdate: 'cascade' }),
    name: c.text().notNull(),
    kind: c.text().notNull(),
    store: c.text(),
    app_id: c.text(),
    role: c.text().notNull().default('own'),
    keyword: c.text(),
    tag: c.text(),
    direction: c.text().notNull().default('any'),
    threshold: c.doublePrecision(),
    threshold_11_to_30: c.doublePrecision(),
    threshold_beyond: c.doublePrecision(),
    top: c.integer(),
    compared_with: c.text().notNull().default('1 day'),
    base: c.doublePrecision(),
    window_days: c.integer(),
    channel: c.text().references(() => alertChannel.name, { onUpdate: 'cascade' }),
    severity: c.text().notNull().default('warning'),
    cooldown: c.interval().notNull().default('0 seconds'),
    enabled: c.boolean().notNull().default(true),
    note: c.text(),
    created_at: instant().notNull().default(businessNow),
  }),
  (t) => [...RULES, uniqueIndex('alert_rule_same_row_twice').on(t.project, t.name)],
)

/** Deleted in the transaction that writes the events that they lead to. */
export const alertDue = pgTable(
  'alert_due',
  (c) => ({
    id: whole().primaryKey().generatedAlwaysAsIdentity(),
    project_id: c.integer().notNull(),
    slot: instant().notNull(),
    target_ids: c.integer().array().notNull(),
    noted_at: instant().notNull().default(clock),
  }),
  (t) => [index('alert_due_of_project').on(t.project_id, t.slot)],
)

/** After its first attempt it is sent with the same words. */
export const alertMessage = pgTable(
  'alert_message',
  (c) => ({
    id: c.uuid().primaryKey().default(uuidV7),
    // What a channel that is deleted has told stays told.
    channel_id: whole().references(() => alertChannel.id, {
      onDelete: 'set null',
    }),
    project_id: c.integer().notNull(),
    digest_at: instant(),
    state: c.text().notNull().default('pending'),
    content: c.jsonb(),
    attempts: c.smallint().notNull().default(0),
    next_at: instant().notNull().default(clock),
    problem: c.text(),
    created_at: instant().notNull().default(clock),
    give_up_at: instant().notNull().default(sql`clock_timestamp() + interval '3 days'`),
    ended_at: instant(),
  }),
  (t) => [
    check('alert_message_state_known', sql`state in ('pending', 'delivered', 'dead', 'empty')`),
    uniqueIndex('alert_message_digest_once').on(t.channel_id, t.project_id, t.digest_at),
    index('alert_message_pending').on(t.channel_id, t.created_at).where(sql`state = 'pending'`),
    index('alert_message_ended').on(t.ended_at).where(sql`state <> 'pending'`),
  ],
)

export const alertEvent = pgTable(
  'alert_event',
  (c) => ({
    id: whole().primaryKey().generatedAlwaysAsIdentity(),
    rule_id: whole()
      .notNull()
      .references(() => alertRule.id, { onDelete: 'cascade' }),
    subject: c.text().notNull(),
    slot: instant().notNull(),
    compared_slot: instant(),
    kind: c.text().notNull(),
    severity: c.text().notNull(),
    target_id: c.integer(),
    app: c.integer(),
    rival: c.integer(),
    before: c.doublePrecision(),
    after: c.doublePrecision(),
    detail: c.jsonb().notNull().default({}),
    found_at: instant().notNull().default(clock),
    message_id: c.uuid().references(() => alertMessage.id, { onDelete: 'set null' }),
    held_back: c.text(),
  }),
  (t) => [
    uniqueIndex('alert_event_once').on(t.rule_id, t.subject, t.slot),
    check('alert_event_held_back_known', sql`held_back in ('cooldown', 'channel', 'beginning')`),
    index('alert_event_of_message').on(t.message_id),
    index('alert_event_undelivered').on(t.rule_id).where(sql`message_id is null and held_back is null`),
  ],
)
