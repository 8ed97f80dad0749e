/**
 * The tables of work and money: what is measured, what was asked of the service, and what it cost. `task` is
 * needed only while something is pending; the history does not join it.
 */
import { sql } from 'drizzle-orm'
import { check, index, pgTable, primaryKey, uniqueIndex } from 'drizzle-orm/pg-core'
import { businessNow, bytes, clock, instant, micros, parts, uuidV7, whole } from './columns.ts'

/**
 * What one task measures. Watches of several projects on the same thing share one target, and so pay once.
 */
export const target = pgTable(
  'target',
  (c) => ({
    id: c.integer().primaryKey().generatedAlwaysAsIdentity(),
    store: c.text().notNull(),
    function: c.text().notNull(),
    // The keyword, the app's id, or the collection of a chart.
    subject: c.text().notNull(),
    // Of a chart, with the age that it is for: `family, ages_6_8`; null for all of the collection.
    category: c.text(),
    location_code: c.integer().notNull(),
    language_code: c.text().notNull(),
    // When it was last measured: those longest ago are bought first.
    captured_at: instant(),
    // Not in each capture, where it would be a tenth of the row.
    check_url: c.text(),
  }),
  () => [
    // app_listings is a paid search by hand, and of no watch.
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
      ...parts(`subject_key(subject) collate "C"; location_code; language_code; store; function;
        coalesce(category, '')`),
    ),
  ],
)

/** One HTTP POST of up to 100 tasks: `ready → sending → settled | unknown`. */
export const post = pgTable(
  'post',
  (c) => ({
    id: c.uuid().primaryKey().default(uuidV7),
    store: c.text().notNull(),
    function: c.text().notNull(),
    state: c.text().notNull().default('ready'),
    token: c.uuid(),
    runner: c.text(),
    send_before: instant(),
    answer_before: instant(),
    settled_at: instant(),
    // When the first complete scan of the service's history began that did not find its unknown tasks.
    scanned_at: instant(),
    // What its tasks had reserved when it was claimed: the account's spending limit per minute counts it.
    micros: micros().notNull().default(0),
    problem: c.text(),
    created_at: instant().notNull().default(clock),
  }),
  (t) => [
    check('post_state_known', sql`state in ('ready', 'sending', 'settled', 'unknown')`),
    index('post_open').on(t.state, t.id).where(sql`state <> 'settled'`),
    index('post_settled').on(t.settled_at).where(sql`state = 'settled'`),
  ],
)

/**
 * One paid request for one target and slot; `<id>.<attempt>` is the tag at the service. While a task is
 * `planned` or `posting` its estimate is reserved for the projects that pay for it: a reservation is no row
 * of its own.
 */
export const task = pgTable(
  'task',
  (c) => ({
    id: c.uuid().primaryKey().default(uuidV7),
    // Of `target`, and below of `post`. No foreign keys: plans write them from rows that they have read or
    // made, and the checks would be a third of a plan.
    target_id: c.integer().notNull(),
    slot: instant().notNull(),
    slot_ends_at: instant().notNull(),
    state: c.text().notNull().default('planned'),
    attempt: c.integer().notNull().default(1),
    depth: c.smallint(),
    priority: c.smallint().notNull(),
    html: c.boolean().notNull().default(false),
    estimate_micros: micros().notNull(),
    // `project.id` of each project that pays a share (`share_of`), in ascending order.
    payers: c.integer().array().notNull(),
    // The instant whose day the reservation counts in: of planning, then of sending.
    reserved_at: instant().notNull().default(businessNow),
    // Which ready list names its result (`endpoint_of`), noted when the service first created it; null
    // before.
    endpoint: c.smallint(),
    // Posts of it that the service charged.
    charged_posts: c.smallint().notNull().default(0),
    // The store failed it, and another attempt at once would most likely fail too.
    not_before: instant(),
    post_id: c.uuid(),
    service_id: c.text(),
    posted_at: instant(),
    // Handed to a fetch job until then, so that two ready lists do not fetch it twice.
    fetching_until: instant(),
    // From then on its result is late. Asking for it does not move this, as it moves `ask_at`.
    overdue_at: instant(),
    // When to ask for it by id, should no ready list name it.
    ask_at: instant(),
    // Answers of the service that held no usable result, though a later one may.
    unusable_answers: c.smallint().notNull().default(0),
    ended_at: instant(),
    status_code: c.integer(),
    problem: c.text(),
    planned_at: instant().notNull().default(clock),
  }),
  (t) => [
    check(
      'task_state_known',
      sql`state in ('planned', 'posting', 'posted', 'collected', 'failed', 'dropped')`,
    ),
    check('task_has_a_payer', sql`cardinality(payers) > 0`),
    // A dropped task stays behind as the memory of a tag that was sent; its slot may be planned again. The
    // slot first: what is planned, posted and collected together stands together, where each target's own
    // place would be another page.
    uniqueIndex('task_once_per_slot').on(t.slot, t.target_id).where(sql`state <> 'dropped'`),
    uniqueIndex('task_service_id_once').on(t.service_id).where(sql`service_id is not null`),
    index('task_of_post').on(t.post_id),
    // `attempt > 0` holds for all tasks. A statement that means all of a state says it, and no other is
    // answered by an index of that state, which the planner believes to be empty and free once it is.
    // By which closing finds the tasks that were never sent.
    index('task_ending')
      .on(t.slot_ends_at)
      .where(sql`attempt > 0 and state = 'planned' and post_id is not null`),
    index('task_unpacked')
      .on(t.slot_ends_at, t.slot)
      .where(sql`attempt > 0 and state = 'planned' and post_id is null`),
    index('task_posted').on(t.ask_at, t.slot).where(sql`attempt > 0 and state = 'posted'`),
    // Counted and told since when without reading them. No column of it changes while a task is posted.
    index('task_overdue').on(t.overdue_at, t.posted_at).where(sql`attempt > 0 and state = 'posted'`),
    // Read from one endpoint to the next. A lease changes none of its columns.
    index('task_awaited').on(t.endpoint).where(sql`attempt > 0 and state = 'posted'`),
    index('task_open')
      .on(t.target_id, t.slot)
      .where(sql`attempt > 0 and state in ('planned', 'posting', 'posted')`),
    index('task_ended').on(t.ended_at).where(sql`ended_at is not null`),
    index('task_told').on(t.state, t.ended_at).where(sql`problem is not null or state = 'failed'`),
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
  (c) => ({
    at: instant().notNull().default(businessNow),
    slot: instant().notNull(),
    amount_micros: micros().notNull(),
    target_id: c.integer().notNull(),
    // `project.id`. No foreign key: a project that ever had a watch cannot be deleted, and each check would
    // cost as much as a row.
    project_id: c.integer().notNull(),
    kind: c.text().notNull(),
    service_id: c.text().notNull(),
  }),
  (t) => [
    primaryKey({ columns: [t.service_id, t.kind, t.project_id] }),
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
  (c) => ({
    // `project.id`, whose days are those of its time zone; 0 is all projects together, by UTC days.
    scope: c.integer().notNull(),
    // -infinity: what housekeeping has deleted of `charge` (KEEP_MONEY), of days before `ends_at`.
    begins_at: instant().notNull(),
    ends_at: instant().notNull(),
    // May be negative where a reservation moved to another day.
    reserved_micros: micros().notNull(),
    charged_micros: micros().notNull(),
    // Zero or less.
    refunded_micros: micros().notNull(),
    duplicate_micros: micros().notNull(),
    adjusted_micros: micros().notNull(),
    tasks_charged: c.integer().notNull(),
    // 0: the day, as far as it is folded; else a change that is not.
    change_id: whole().notNull().generatedByDefaultAsIdentity(),
  }),
  (t) => [
    primaryKey({ columns: [t.scope, t.begins_at, t.change_id] }),
    index('spend_unfolded').on(t.scope).where(sql`change_id > 0`),
  ],
)

/** One row: the lock of the ledger, and the totals over all days. */
export const ledger = pgTable(
  'ledger',
  (c) => ({
    only_one: c.boolean().primaryKey().default(true),
    // What planned and posting tasks have reserved, of any day, as far as it is folded.
    reserved_micros: micros().notNull().default(0),
    // All charges and duplicates ever, without refunds and adjustments: its rise since the account was read
    // is not in the balance yet.
    taken_micros: micros().notNull().default(0),
    // Slots that began up to then are opened (`due_slot`), of all periods that have no row of
    // `period_change`.
    opened_to: instant().notNull().default(sql`'-infinity'`),
    // Stands in the tags of its tasks. A copy of the database has it too.
    installation: c.text().notNull().default(sql`substr(replace(gen_random_uuid()::text, '-', ''), 1, 12)`),
    // While it is set nothing is posted: the service lists tasks of this installation that the ledger does
    // not know, posted since that instant of the service's clock.
    recover_from: instant(),
    // Why it is set, as a sentence; null while it is not.
    hold_reason: c.text(),
    // The one account whose results this database holds; null before the first work.
    account: c.text(),
    // Another storerank works on the account: a new database takes no notice of its tasks.
    is_apart: c.boolean().notNull().default(false),
  }),
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
  (c) => ({
    only_one: c.boolean().primaryKey().default(true),
    checked_at: instant().notNull(),
    // A server that was restored from a backup of its files has started since.
    server_started_at: instant().notNull(),
    // A copy by `create database … template` has another oid.
    database: whole().notNull(),
    // The transaction that wrote the row: after `pg_restore` or COPY another one did (`xmin`).
    written_by: c.text().notNull(),
    // Where runners reach the database: a copy of its files is at another place.
    places: c.text().array().notNull().default(sql`'{}'`),
  }),
  () => [check('restore_check_has_one_row', sql`only_one`)],
)

export const rejectedResult = pgTable('rejected_result', (c) => ({
  task_id: c.uuid().primaryKey(),
  service_id: c.text().notNull(),
  target_id: c.integer().notNull(),
  slot: instant().notNull(),
  path: c.text().notNull(),
  problem: c.text().notNull(),
  body_gzip: bytes().notNull(),
  received_at: instant().notNull().default(clock),
}))

/**
 * Where the service's own list of tasks and our books disagree, found by the audit. `missing` and `unknown`
 * go away when they agree again; `cost` stays, as what an adjustment was made for.
 */
export const auditDifference = pgTable(
  'audit_difference',
  (c) => ({
    service_id: c.text().primaryKey(),
    kind: c.text().notNull(),
    // When the service says it was posted; of a task that the service lacks, when we say so.
    posted_at: instant().notNull(),
    path: c.text(),
    tag: c.text(),
    task_id: c.uuid(),
    // Of other programs one row per path and day, by the id of the first.
    tasks: c.integer().notNull().default(1),
    // Net of refunds and without adjustments; null where that side has no such task.
    service_micros: micros(),
    our_micros: micros(),
    found_at: instant().notNull().default(clock),
  }),
  (t) => [
    check('audit_difference_kind_known', sql`kind in ('missing', 'unknown', 'cost')`),
    index('audit_difference_by_time').on(t.posted_at),
  ],
)
