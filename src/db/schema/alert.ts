/**
 * Alerts: the rules and channels that people write, the events that rules found, and the messages that tell
 * them. Every mistake in a rule or a channel is refused at the INSERT, by a CHECK with a telling name.
 */
import { sql } from 'drizzle-orm'
import {
  bigint,
  boolean,
  check,
  doublePrecision,
  index,
  integer,
  interval,
  jsonb,
  pgTable,
  smallint,
  text,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core'
import { alertChannel, sharedRules } from './channel.ts'
import { businessNow, instant } from './columns.ts'
import { project } from './project.ts'
import { APP_ID_FORM, rulesOf } from './rule.ts'

const clock = sql`clock_timestamp()`
type Rule = ReturnType<typeof rulesOf>
const ofRule = rulesOf('alert_rule', ['project', 'name'])

/** What a rule is about, and of what it speaks. */
function scopeRules(rule: Rule) {
  return [
    ...sharedRules(rule),
    rule('store_known', sql`store in ('ios_store', 'android_store')`, 'store'),
    rule('app_id_form', APP_ID_FORM, 'app_id'),
    rule('role_own_competitor_or_any', sql`role in ('own', 'competitor', 'any')`, 'role'),
    rule('keyword_1_to_700', sql`char_length(keyword) between 1 and 700`, 'keyword', 'char_length(keyword)'),
    rule('tag_1_to_100', sql`char_length(tag) between 1 and 100`, 'tag', 'char_length(tag)'),
  ]
}

/** From where on it is told. */
function thresholdRules(rule: Rule) {
  return [
    rule('direction_any_up_or_down', sql`direction in ('any', 'up', 'down')`, 'direction'),
    rule(
      'bands_1_to_1000',
      sql`coalesce(threshold_11_to_30, 1) between 1 and 1000
        and coalesce(threshold_beyond, 1) between 1 and 1000`,
      'threshold_11_to_30',
      'threshold_beyond',
    ),
    rule('top_1_to_1000', sql`top between 1 and 1000`, 'top'),
  ]
}

/** What is compared, how grave it is, and how often it is told. */
function comparisonRules(rule: Rule) {
  return [
    rule(
      'compared_with_known',
      sql`compared_with in ('1 day', '7 days', '30 days', 'best', 'base')`,
      'compared_with',
    ),
    rule(
      'base_where_compared_with_base',
      sql`(base is null) = (compared_with <> 'base')`,
      'base',
      'compared_with',
    ),
    rule('base_1_to_1000', sql`base between 1 and 1000`, 'base'),
    rule(
      'window_days_only_of_best',
      sql`window_days is null or compared_with = 'best'`,
      'window_days',
      'compared_with',
    ),
    rule('window_days_2_to_400', sql`window_days between 2 and 400`, 'window_days'),
    rule('severity_known', sql`severity in ('info', 'warning', 'critical')`, 'severity'),
    rule(
      'cooldown_0_to_366_days',
      sql`extract(year from cooldown) = 0 and extract(month from cooldown) = 0
        and extract(epoch from cooldown) between 0 and 31622400`,
      'cooldown',
    ),
  ]
}

/** What a person wants to be told of. docs/alerts.md says what each kind compares. */
export const alertRule = pgTable(
  'alert_rule',
  {
    id: bigint('id', { mode: 'number' }).primaryKey().generatedByDefaultAsIdentity(),
    project: text('project')
      .notNull()
      .references(() => project.name, { onUpdate: 'cascade' }),
    name: text('name').notNull(),
    kind: text('kind').notNull(),
    store: text('store'),
    appId: text('app_id'),
    role: text('role').notNull().default('own'),
    keyword: text('keyword'),
    tag: text('tag'),
    direction: text('direction').notNull().default('any'),
    threshold: doublePrecision('threshold'),
    /** Of `rank_moved`, where the better of the two ranks is 11 to 30, and beyond. */
    threshold11To30: doublePrecision('threshold_11_to_30'),
    thresholdBeyond: doublePrecision('threshold_beyond'),
    top: integer('top'),
    comparedWith: text('compared_with').notNull().default('1 day'),
    base: doublePrecision('base'),
    windowDays: integer('window_days'),
    channel: text('channel').references(() => alertChannel.name, { onUpdate: 'cascade' }),
    severity: text('severity').notNull().default('warning'),
    cooldown: interval('cooldown').notNull().default('0 seconds'),
    enabled: boolean('enabled').notNull().default(true),
    note: text('note'),
    createdAt: instant('created_at').notNull().default(businessNow),
  },
  (t) => [
    ...scopeRules(ofRule),
    ...thresholdRules(ofRule),
    ...comparisonRules(ofRule),
    uniqueIndex('alert_rule_same_row_twice').on(t.project, t.name),
  ],
)

/**
 * Measurements and gaps that no rule has looked at yet, a row for each batch that was stored at once: written
 * by a trigger in the transaction that stores them, deleted in the transaction that writes the events they
 * lead to.
 */
export const alertDue = pgTable(
  'alert_due',
  {
    id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    projectId: integer('project_id').notNull(),
    slot: instant('slot').notNull(),
    targetIds: integer('target_ids').array().notNull(),
    notedAt: instant('noted_at').notNull().default(clock),
  },
  (t) => [index('alert_due_of_project').on(t.projectId, t.slot)],
)

/**
 * What goes to a channel as one: under the same id each time, and after its first attempt with the same
 * words.
 */
export const alertMessage = pgTable(
  'alert_message',
  {
    id: uuid('id').primaryKey().default(sql`uuid_v7()`),
    /** Null when the channel was deleted: what it has told stays told. */
    channelId: bigint('channel_id', { mode: 'number' }).references(() => alertChannel.id, {
      onDelete: 'set null',
    }),
    projectId: integer('project_id').notNull(),
    /** The hour of a digest; null for what is told at once. */
    digestAt: instant('digest_at'),
    state: text('state').notNull().default('pending'),
    /** What is sent; null before the first attempt. */
    content: jsonb('content'),
    attempts: smallint('attempts').notNull().default(0),
    nextAt: instant('next_at').notNull().default(clock),
    problem: text('problem'),
    createdAt: instant('created_at').notNull().default(clock),
    /** An attempt that fails after it is the last one. */
    giveUpAt: instant('give_up_at').notNull().default(sql`clock_timestamp() + interval '3 days'`),
    endedAt: instant('ended_at'),
  },
  (t) => [
    check('alert_message_state_known', sql`state in ('pending', 'delivered', 'dead', 'empty')`),
    uniqueIndex('alert_message_digest_once').on(t.channelId, t.projectId, t.digestAt),
    index('alert_message_pending').on(t.channelId, t.createdAt).where(sql`state = 'pending'`),
    index('alert_message_ended').on(t.endedAt).where(sql`state <> 'pending'`),
  ],
)

/** What a rule found, once: (rule, subject, slot) is unique. */
export const alertEvent = pgTable(
  'alert_event',
  {
    id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    ruleId: bigint('rule_id', { mode: 'number' })
      .notNull()
      .references(() => alertRule.id, { onDelete: 'cascade' }),
    subject: text('subject').notNull(),
    slot: instant('slot').notNull(),
    /**
     * What it is compared with; an event of the same rule, subject and direction since then has told it
     * already.
     */
    comparedSlot: instant('compared_slot'),
    kind: text('kind').notNull(),
    severity: text('severity').notNull(),
    targetId: integer('target_id'),
    app: integer('app'),
    rival: integer('rival'),
    before: doublePrecision('before'),
    after: doublePrecision('after'),
    detail: jsonb('detail').notNull().default({}),
    foundAt: instant('found_at').notNull().default(clock),
    messageId: uuid('message_id').references(() => alertMessage.id, { onDelete: 'set null' }),
    /** Why it is not told. */
    heldBack: text('held_back'),
  },
  (t) => [
    uniqueIndex('alert_event_once').on(t.ruleId, t.subject, t.slot),
    check('alert_event_held_back_known', sql`held_back in ('cooldown', 'channel', 'beginning')`),
    index('alert_event_of_message').on(t.messageId),
    index('alert_event_undelivered').on(t.ruleId).where(sql`message_id is null and held_back is null`),
  ],
)
