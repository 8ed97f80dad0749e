/**
 * The tables of work and money: what is measured, what was asked of the service, and what it cost. `task` is
 * needed only while something is pending; the history does not join it.
 */
import { sql } from 'drizzle-orm'
import {
  bigint,
  boolean,
  check,
  index,
  integer,
  pgTable,
  primaryKey,
  smallint,
  text,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core'
import { businessNow, bytes, instant, micros } from './columns.ts'

const uuidV7 = sql`uuid_v7()`
const clock = sql`clock_timestamp()`

/**
 * What one task measures. Watches of several projects on the same thing share one target, and so pay once.
 */
export const target = pgTable(
  'target',
  {
    id: integer('id').primaryKey().generatedAlwaysAsIdentity(),
    store: text('store').notNull(),
    function: text('function').notNull(),
    /** The keyword, the app's id, or the collection of a chart. */
    subject: text('subject').notNull(),
    /** Of a chart, with the age that it is for: `family, ages_6_8`; null for all of the collection. */
    category: text('category'),
    locationCode: integer('location_code').notNull(),
    languageCode: text('language_code').notNull(),
    /** When it was last measured. When money is short, the targets measured longest ago are bought first. */
    capturedAt: instant('captured_at'),
    /**
     * Where a person sees the same at the store, as the service said last: not in each capture, where it
     * would be a tenth of the row.
     */
    checkUrl: text('check_url'),
  },
  () => [
    // app_listings is a search in the service's database of listings: paid for, asked for by hand, and of no
    // watch.
    check(
      'target_function_known',
      sql`function in ('app_searches', 'app_info', 'app_list', 'app_reviews', 'app_listings')`,
    ),
    check('target_category_of_charts', sql`category is null or function = 'app_list'`),
    // The expression is that of the column keyword of the rank views, so that they use the index.
    index('target_by_keyword').using('hash', sql`(case function when 'app_searches' then subject end)`),
    // Other spellings of a keyword are sought in it, and most keywords have none.
    index('target_with_capitals')
      .on(sql`folded_subject(subject)`)
      .where(sql`function = 'app_searches' and subject <> folded_subject(subject)`),
    // What tells two targets apart comes first, so that most comparisons are of one column, and those of
    // bytes: the order of a language takes several times as long.
    uniqueIndex('target_once').on(
      sql`subject_key(subject) collate "C"`,
      sql`location_code`,
      sql`language_code`,
      sql`store`,
      sql`function`,
      sql`coalesce(category, '')`,
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
    /** What its tasks had reserved when it was claimed: the account's spending limit per minute counts it. */
    micros: micros('micros').notNull().default(0),
    problem: text('problem'),
    createdAt: instant('created_at').notNull().default(clock),
  },
  (t) => [
    check('post_state_known', sql`state in ('ready', 'sending', 'settled', 'unknown')`),
    index('post_open').on(t.state, t.id).where(sql`state <> 'settled'`),
    index('post_settled').on(t.settledAt).where(sql`state = 'settled'`),
  ],
)

/**
 * One paid request for one target and slot; `<id>.<attempt>` is the tag at the service. While a task is
 * `planned` or `posting` its estimate is reserved for the projects that pay for it: a reservation is no row
 * of its own.
 */
export const task = pgTable(
  'task',
  {
    id: uuid('id').primaryKey().default(uuidV7),
    /**
     * Of `target`, and below of `post`. No foreign keys: plans write them from rows that they have read or
     * made, and the checks would be a third of a plan.
     */
    targetId: integer('target_id').notNull(),
    slot: instant('slot').notNull(),
    slotEndsAt: instant('slot_ends_at').notNull(),
    state: text('state').notNull().default('planned'),
    attempt: integer('attempt').notNull().default(1),
    depth: smallint('depth'),
    priority: smallint('priority').notNull(),
    /** The raw pages are fetched and kept beside the result. */
    html: boolean('html').notNull().default(false),
    estimateMicros: micros('estimate_micros').notNull(),
    /** `project.id` of each project that pays a share (`share_of`), in ascending order. */
    payers: integer('payers').array().notNull(),
    /** The instant whose day the reservation counts in: of planning, then of sending. */
    reservedAt: instant('reserved_at').notNull().default(businessNow),
    /**
     * Which ready list names its result (`endpoint_of`), noted when the service first created it; null
     * before.
     */
    endpoint: smallint('endpoint'),
    /** Posts of it that the service charged. */
    chargedPosts: smallint('charged_posts').notNull().default(0),
    /**
     * It is in no post before: the store failed it, and another attempt at once would most likely fail too.
     */
    notBefore: instant('not_before'),
    postId: uuid('post_id'),
    serviceId: text('service_id'),
    postedAt: instant('posted_at'),
    /** Handed to a fetch job until then, so that two ready lists do not fetch it twice. */
    fetchingUntil: instant('fetching_until'),
    /** From then on its result is late, until it comes. Asking for it does not move this. */
    overdueAt: instant('overdue_at'),
    /**
     * When to ask for it by id, should no ready list name it; first at `overdue_at`, or earlier after an
     * answer that was no result.
     */
    askAt: instant('ask_at'),
    /** Answers of the service that held no usable result, though a later one may. */
    unusableAnswers: smallint('unusable_answers').notNull().default(0),
    endedAt: instant('ended_at'),
    statusCode: integer('status_code'),
    problem: text('problem'),
    plannedAt: instant('planned_at').notNull().default(clock),
  },
  (t) => [
    check(
      'task_state_known',
      sql`state in ('planned', 'posting', 'posted', 'collected', 'failed', 'dropped')`,
    ),
    check('task_has_a_payer', sql`cardinality(payers) > 0`),
    // A dropped task stays behind as the memory of a tag that was sent; its slot may be planned again. The
    // slot first: what is planned, posted and collected together stands together, where each target's own
    // place would be another page.
    uniqueIndex('task_once_per_slot').on(t.slot, t.targetId).where(sql`state <> 'dropped'`),
    uniqueIndex('task_service_id_once').on(t.serviceId).where(sql`service_id is not null`),
    index('task_of_post').on(t.postId),
    // `attempt > 0` holds for all tasks. A statement that means all of a state says it, and no other is
    // answered by an index of that state, which the planner believes to be empty and free once it is.
    // By which closing finds the tasks that were never sent.
    index('task_ending')
      .on(t.slotEndsAt)
      .where(sql`attempt > 0 and state = 'planned' and post_id is not null`),
    index('task_unpacked')
      .on(t.slotEndsAt, t.slot)
      .where(sql`attempt > 0 and state = 'planned' and post_id is null`),
    // By when they are asked for by id: what is asked for now is found without reading what is not.
    index('task_posted').on(t.askAt, t.slot).where(sql`attempt > 0 and state = 'posted'`),
    // Those that are late, however often they were asked for, counted and told since when without reading
    // them. None of its columns changes while a task is posted.
    index('task_overdue').on(t.overdueAt, t.postedAt).where(sql`attempt > 0 and state = 'posted'`),
    // From one endpoint to the next, so that what the ready lists are asked for is found without reading what
    // waits. A lease changes none of its columns.
    index('task_awaited').on(t.endpoint).where(sql`attempt > 0 and state = 'posted'`),
    // By which a question finds the open tasks of a target beside those of the last 90 days.
    index('task_open')
      .on(t.targetId, t.slot)
      .where(sql`attempt > 0 and state in ('planned', 'posting', 'posted')`),
    index('task_ended').on(t.endedAt).where(sql`ended_at is not null`),
    // Those of which there is something to say, beside those of 90 days of which there is not.
    index('task_told').on(t.state, t.endedAt).where(sql`problem is not null or state = 'failed'`),
  ],
)

/**
 * One row of money that the service took or gave back: `charge`, `refund` (negative) and `duplicate` are what
 * it said, and an `adjustment` (either sign) is what its own list of tasks says beyond them. A shared task
 * has one row of each kind per project, and they add up exactly. Kept for ever, unless KEEP_MONEY says
 * otherwise.
 */
export const charge = pgTable(
  'charge',
  {
    at: instant('at').notNull().default(businessNow),
    slot: instant('slot').notNull(),
    amountMicros: micros('amount_micros').notNull(),
    targetId: integer('target_id').notNull(),
    /**
     * `project.id`. No foreign key: a project that ever had a watch cannot be deleted, and each check would
     * cost as much as a row.
     */
    projectId: integer('project_id').notNull(),
    kind: text('kind').notNull(),
    serviceId: text('service_id').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.serviceId, t.kind, t.projectId] }),
    check('charge_kind_known', sql`kind in ('charge', 'refund', 'duplicate', 'adjustment')`),
    check(
      'charge_sign_by_kind',
      sql.raw(
        [
          "case kind when 'refund' then amount_micros <= 0 when 'adjustment' then true",
          'else amount_micros >= 0 end',
        ].join(' '),
      ),
    ),
    // Charges arrive in the order of their time: a range of it is a range of pages.
    index('charge_by_time').using('brin', t.at).with({ autosummarize: true, pages_per_range: 32 }),
    index('charge_told').on(t.kind, t.at).where(sql`kind in ('adjustment', 'duplicate')`),
  ],
)

/**
 * Money by project and day, so that testing a budget reads tens of rows. A transition only inserts a row with
 * what it adds, so that two of the same day never wait for each other; the holder of the ledger's lock folds
 * these into the row of the day.
 */
export const spend = pgTable(
  'spend',
  {
    /** `project.id`, whose days are those of its time zone; 0 is all projects together, by UTC days. */
    scope: integer('scope').notNull(),
    /** -infinity: what housekeeping has deleted of `charge` (KEEP_MONEY), of days before `ends_at`. */
    beginsAt: instant('begins_at').notNull(),
    endsAt: instant('ends_at').notNull(),
    /** May be negative where a reservation moved to another day. */
    reservedMicros: micros('reserved_micros').notNull(),
    chargedMicros: micros('charged_micros').notNull(),
    /** Zero or less. */
    refundedMicros: micros('refunded_micros').notNull(),
    duplicateMicros: micros('duplicate_micros').notNull(),
    adjustedMicros: micros('adjusted_micros').notNull(),
    tasksCharged: integer('tasks_charged').notNull(),
    /** 0: the day, as far as it is folded; else a change that is not. */
    changeId: bigint('change_id', { mode: 'number' }).notNull().generatedByDefaultAsIdentity(),
  },
  (t) => [
    primaryKey({ columns: [t.scope, t.beginsAt, t.changeId] }),
    index('spend_unfolded').on(t.scope).where(sql`change_id > 0`),
  ],
)

/** One row: the lock of the ledger, and the totals over all days. */
export const ledger = pgTable(
  'ledger',
  {
    onlyOne: boolean('only_one').primaryKey().default(true),
    /** What planned and posting tasks have reserved, of any day, as far as it is folded. */
    reservedMicros: micros('reserved_micros').notNull().default(0),
    /**
     * All charges and duplicates ever, without refunds and adjustments: its rise since the account was read
     * is not in the balance yet.
     */
    takenMicros: micros('taken_micros').notNull().default(0),
    /**
     * Slots that began up to then are opened (`due_slot`), of all periods that have no row of
     * `period_change`.
     */
    openedTo: instant('opened_to').notNull().default(sql`'-infinity'`),
    /** Stands in the tags of its tasks. A copy of the database has it too. */
    installation: text('installation')
      .notNull()
      .default(sql`substr(replace(gen_random_uuid()::text, '-', ''), 1, 12)`),
    /**
     * While it is set nothing is posted: the service lists tasks of this installation that the ledger does
     * not know, posted since that instant of the service's clock.
     */
    recoverFrom: instant('recover_from'),
    /** Why it is set, as a sentence; null while it is not. */
    holdReason: text('hold_reason'),
    /** The one account whose results this database holds; null before the first work. */
    account: text('account'),
    /** Another storerank works on the account: a new database takes no notice of its tasks. */
    isApart: boolean('is_apart').notNull().default(false),
  },
  () => [
    check('ledger_has_one_row', sql`only_one`),
    check('ledger_installation_form', sql`installation ~ '^[0-9a-f]{12}$'`),
  ],
)

/**
 * One row: when the service's list was last compared with the ledger, and where the row was written. It is
 * written anew by a dump, by a template and by replication, and never by a migration that changes its rows:
 * what it says of itself holds in one database alone, so a copy knows that it is one (`is_copy`).
 */
export const restoreCheck = pgTable(
  'restore_check',
  {
    onlyOne: boolean('only_one').primaryKey().default(true),
    checkedAt: instant('checked_at').notNull(),
    /** A server that was restored from a backup of its files has started since. */
    serverStartedAt: instant('server_started_at').notNull(),
    /** A copy by `create database … template` has another oid. */
    database: bigint('database', { mode: 'number' }).notNull(),
    /** The transaction that wrote the row: after `pg_restore` or COPY another one did (`xmin`). */
    writtenBy: text('written_by').notNull(),
    /** Where runners reach the database. A copy of its files has started elsewhere, at another one. */
    places: text('places').array().notNull().default(sql`'{}'`),
  },
  () => [check('restore_check_has_one_row', sql`only_one`)],
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

/**
 * Where the service's own list of tasks and our books disagree, found by the audit. `missing` and `unknown`
 * go away when they agree again; `cost` stays, as what an adjustment was made for.
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
