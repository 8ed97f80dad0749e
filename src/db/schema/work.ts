/**
 * The tables of work and money: what is measured, what was asked of the service, what it cost, and every call.
 * `task` is needed only while something is pending; the history does not join it.
 */
import { sql } from 'drizzle-orm'
import {
  bigint,
  boolean,
  check,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  smallint,
  text,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core'
import { businessNow, bytes, instant, micros } from './columns.ts'
import { project } from './project.ts'

const uuidV7 = sql`uuid_v7()`
const clock = sql`clock_timestamp()`

/** What one task measures. Watches of several projects on the same thing share one target, and so pay once. */
export const target = pgTable(
  'target',
  {
    id: integer('id').primaryKey().generatedAlwaysAsIdentity(),
    store: text('store').notNull(),
    function: text('function').notNull(),
    /** The keyword, the app's id, or the collection of a chart. */
    subject: text('subject').notNull(),
    /** Of a chart; null for all of the collection. */
    category: text('category'),
    locationCode: integer('location_code').notNull(),
    languageCode: text('language_code').notNull(),
    /** When it was last measured: the older, the earlier it is bought when money is short. */
    capturedAt: instant('captured_at'),
  },
  () => [
    check(
      'target_function_of_store',
      sql`function in ('app_searches', 'app_info') or (store, function) in (('android_store', 'app_list'), ('ios_store', 'app_reviews'))`,
    ),
    check('target_category_of_charts', sql`category is null or function = 'app_list'`),
    // What the rank views call keyword, written as they write it.
    index('target_by_keyword').using('hash', sql`(case function when 'app_searches' then subject end)`),
    // A keyword of 700 characters is longer than a b-tree entry may be, so its digest stands in.
    uniqueIndex('target_once').on(
      sql`store`,
      sql`function`,
      sql`md5(subject)`,
      sql`coalesce(category, '')`,
      sql`location_code`,
      sql`language_code`,
    ),
  ],
)

/** One HTTP POST of up to 100 tasks: `ready → sending → settled | unknown`. */
export const post = pgTable(
  'post',
  {
    id: uuid('id').primaryKey().default(uuidV7),
    store: text('store').notNull(),
    function: text('function').notNull(),
    state: text('state').notNull().default('ready'),
    token: uuid('token'),
    runner: text('runner'),
    sendBefore: instant('send_before'),
    answerBefore: instant('answer_before'),
    settledAt: instant('settled_at'),
    /** When the first complete scan of the service's history began that did not find its unknown tasks. */
    scannedAt: instant('scanned_at'),
    problem: text('problem'),
    createdAt: instant('created_at').notNull().default(clock),
  },
  (t) => [
    check('post_state_known', sql`state in ('ready', 'sending', 'settled', 'unknown')`),
    index('post_open').on(t.state).where(sql`state <> 'settled'`),
  ],
)

/** One paid request for one target and slot; `<id>.<attempt>` is the tag at the service. */
export const task = pgTable(
  'task',
  {
    id: uuid('id').primaryKey().default(uuidV7),
    targetId: integer('target_id')
      .notNull()
      .references(() => target.id),
    slot: instant('slot').notNull(),
    slotEndsAt: instant('slot_ends_at').notNull(),
    state: text('state').notNull().default('planned'),
    attempt: integer('attempt').notNull().default(1),
    depth: smallint('depth'),
    priority: smallint('priority').notNull(),
    /** The raw pages are fetched and kept beside the result. */
    html: boolean('html').notNull().default(false),
    estimateMicros: micros('estimate_micros').notNull(),
    postId: uuid('post_id').references(() => post.id),
    serviceId: text('service_id'),
    postedAt: instant('posted_at'),
    /** Handed to a fetch job until then, so that two ready lists do not fetch it twice. */
    fetchingUntil: instant('fetching_until'),
    /** When to ask for it by id, should no ready list name it. */
    askAt: instant('ask_at'),
    /** Answers of the service that held no usable result, though a later one may. */
    unusableAnswers: smallint('unusable_answers').notNull().default(0),
    endedAt: instant('ended_at'),
    statusCode: integer('status_code'),
    problem: text('problem'),
    plannedAt: instant('planned_at').notNull().default(clock),
  },
  (t) => [
    check('task_state_known', sql`state in ('planned', 'posting', 'posted', 'collected', 'failed')`),
    uniqueIndex('task_once_per_slot').on(t.targetId, t.slot),
    uniqueIndex('task_service_id_once').on(t.serviceId),
    index('task_of_post').on(t.postId),
    index('task_open').on(t.state, t.askAt).where(sql`state in ('planned', 'posting', 'posted')`),
    index('task_ended').on(t.endedAt).where(sql`ended_at is not null`),
  ],
)

/**
 * One row of money. An `estimate` reserves while it is open; `charge`, `refund` (negative) and `duplicate` are what
 * the service took or gave back, and an `adjustment` (either sign) is what its own list of tasks says beyond them. A shared
 * task has one row of each kind per project, and they add up exactly.
 */
export const charge = pgTable(
  'charge',
  {
    id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    kind: text('kind').notNull(),
    /** The instant whose day and month it counts in: of planning, then of sending; of an adjustment, that of its charge. */
    at: instant('at').notNull().default(businessNow),
    project: text('project')
      .notNull()
      .references(() => project.name, { onUpdate: 'cascade' }),
    amountMicros: micros('amount_micros').notNull(),
    open: boolean('open').notNull().default(false),
    taskId: uuid('task_id').notNull(),
    attempt: integer('attempt').notNull(),
    targetId: integer('target_id').notNull(),
    slot: instant('slot').notNull(),
    postId: uuid('post_id'),
    serviceId: text('service_id'),
  },
  (t) => [
    check('charge_kind_known', sql`kind in ('estimate', 'charge', 'refund', 'duplicate', 'adjustment')`),
    check(
      'charge_sign_by_kind',
      sql`case kind when 'refund' then amount_micros <= 0 when 'adjustment' then true else amount_micros >= 0 end`,
    ),
    check('charge_only_estimates_are_open', sql`not open or kind = 'estimate'`),
    uniqueIndex('charge_estimate_once').on(t.taskId, t.attempt, t.project).where(sql`kind = 'estimate'`),
    uniqueIndex('charge_fact_once').on(t.serviceId, t.kind, t.project).where(sql`kind <> 'estimate'`),
    // What counts against a budget: money taken and money reserved.
    index('charge_counts_by_project')
      .on(t.project, t.at, t.amountMicros)
      .where(sql`kind <> 'estimate' or open`),
    index('charge_counts').on(t.at, t.amountMicros).where(sql`kind <> 'estimate' or open`),
    // What is reserved, however long ago: each claim sums it up behind the budget lock.
    index('charge_open').on(t.amountMicros).where(sql`open`),
    index('charge_of_task').on(t.taskId),
  ],
)

/** A due slot that the budget did not reach: recorded once, lifted when money comes, a gap when the slot ends. */
export const budgetCut = pgTable(
  'budget_cut',
  {
    targetId: integer('target_id')
      .notNull()
      .references(() => target.id),
    slot: instant('slot').notNull(),
    slotEndsAt: instant('slot_ends_at').notNull(),
    reason: text('reason').notNull(),
    priceMicros: micros('price_micros').notNull(),
    cutAt: instant('cut_at').notNull().default(clock),
  },
  (t) => [
    primaryKey({ columns: [t.targetId, t.slot] }),
    check(
      'budget_cut_reason_known',
      sql`reason in ('project_budget', 'overall_budget', 'dearer_than_project_budget', 'dearer_than_overall_budget')`,
    ),
    index('budget_cut_ends').on(t.slotEndsAt),
  ],
)

/** A paid result that could not be read or stored, kept for inspection. */
export const rejectedResult = pgTable('rejected_result', {
  taskId: uuid('task_id').primaryKey(),
  serviceId: text('service_id').notNull(),
  targetId: integer('target_id').notNull(),
  slot: instant('slot').notNull(),
  path: text('path').notNull(),
  problem: text('problem').notNull(),
  bodyGzip: bytes('body_gzip').notNull(),
  receivedAt: instant('received_at').notNull().default(clock),
})

/** One row per request to the service: the call window and the audit trail in one. */
export const apiCall = pgTable(
  'api_call',
  {
    id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    kind: text('kind').notNull(),
    path: text('path').notNull(),
    runner: text('runner').notNull(),
    permitAt: instant('permit_at').notNull(),
    deadlineAt: instant('deadline_at').notNull(),
    endedAt: instant('ended_at'),
    httpStatus: integer('http_status'),
    statusCode: integer('status_code'),
    error: text('error'),
  },
  (t) => [
    index('api_call_window').on(t.permitAt, t.kind),
    index('api_call_in_flight').on(t.deadlineAt).where(sql`ended_at is null`),
  ],
)

/** (job, slot) once, whoever's clock woke it. */
export const jobRun = pgTable(
  'job_run',
  {
    job: text('job').notNull(),
    slot: instant('slot').notNull(),
    state: text('state').notNull().default('waiting'),
    runner: text('runner'),
    startedAt: instant('started_at'),
    endedAt: instant('ended_at'),
    summary: jsonb('summary'),
    error: text('error'),
  },
  (t) => [
    primaryKey({ columns: [t.job, t.slot] }),
    check('job_run_state_known', sql`state in ('waiting', 'running', 'done', 'failed', 'missed')`),
  ],
)

/**
 * Where the service's own list of tasks and our books disagree, found by the audit. `missing` and `unknown` go away when they
 * agree again; `cost` stays, as what an adjustment was made for.
 */
export const auditDifference = pgTable(
  'audit_difference',
  {
    serviceId: text('service_id').primaryKey(),
    kind: text('kind').notNull(),
    /** When the service says it was posted; of a task that the service lacks, when we say so. */
    postedAt: instant('posted_at').notNull(),
    path: text('path'),
    tag: text('tag'),
    taskId: uuid('task_id'),
    /** What other programs posted is one row per path and day, by the id of the first. */
    tasks: integer('tasks').notNull().default(1),
    /** Net of refunds and without adjustments; null where that side has no such task. */
    serviceMicros: micros('service_micros'),
    ourMicros: micros('our_micros'),
    foundAt: instant('found_at').notNull().default(clock),
  },
  (t) => [
    check('audit_difference_kind_known', sql`kind in ('missing', 'unknown', 'cost')`),
    index('audit_difference_by_time').on(t.postedAt),
  ],
)
