/** What operators watch: how each source is read, the metrics that show it, and what is wrong about it. */
import { JOBS } from '../../jobs/index.ts'
import { describeOutage, readPostingOutage, readServiceTroubles } from '../account/service-status.ts'
import { oneRow } from '../db/one-row.ts'
import { describeLostTables } from '../db/requirements.ts'
import { describeOtherWriters } from '../db/roles.ts'
import { formatMinute } from '../instant.ts'
import { type BudgetLine, readBudgets } from '../report/money.ts'
import { formatUsd } from '../text/money.ts'
import { ageS, type Open, type Source, source } from './figure.ts'

const USD = 1_000_000
const sampleOf = (labels: Readonly<Record<string, string>>, micros: number) => ({
  labels,
  value: micros / USD,
})

/** As `status --json` has them; project is empty for all together, as in the metrics of money. */
function labelsOf({ setBy, project, period }: BudgetLine) {
  return { set_by: setBy, project: project ?? '', period }
}

const DIFFERENCES_COUNTED = 1_000

/** What is read is a trouble itself: its sentence, or several. */
function trouble<Read extends string | readonly string[] | null>(kind: string, read: Source<Read>['read']) {
  return source<Read>({ read, troubles: { [kind]: (says) => says } })
}

interface JobLine {
  readonly job: string
  /** Of its last run; null when it never ran. */
  readonly state: string | null
  readonly at: Date | null
  readonly error: string | null
  readonly lastSuccessAt: Date | null
  /** Runs of the past 24 hours by how they ended. */
  readonly done: number
  readonly failed: number
  readonly missed: number
}

/** Of the jobs that ever succeeded. */
function sampleSuccesses(read: readonly JobLine[], measure: (last: Date) => number) {
  return read.flatMap(({ job, lastSuccessAt }) =>
    lastSuccessAt === null ? [] : [{ labels: { job_name: job }, value: measure(lastSuccessAt) }],
  )
}

function describeFailed({ job, at, error }: JobLine): string {
  const when = at === null ? 'an unknown time' : formatMinute(at)
  return `The last run of the job ${job}, at ${when}, failed: ${error ?? 'no reason was given'}`
}

/** The quiet time and two scans are over by then. */
const UNKNOWN_TOO_LONG_S = 3_600
/** Results are overdue after 45 minutes, and asked for by id: hours later it is no delay any more. */
const OVERDUE_TOO_LONG_S = 6 * 3_600

const STATES = ['planned', 'posting', 'posted'] as const
const DUE = ['unplanned', ...STATES, 'budget_cut'] as const

/** How many there are of a kind of the view `open_work`. */
const countOf = (kind: keyof Open, help: string) => ({ help, value: (open: Open) => open[kind].count })

/** Those with the most urgent troubles first, as docs/operations.md has them. */
export const SOURCES = {
  noRoom: trouble('no_room', ({ open }) => open.no_room.message),
  readOnly: trouble('read_only', ({ open }) => open.read_only.message),
  restoreHold: trouble('restored', ({ open }) => open.restored.message),
  /** What a person has taken from the database, and forgot to give back after a bulk load. */
  lostTables: trouble('lost_tables', ({ db }) => describeLostTables(db.sql)),
  /** Whether the clocks of the database and of the service show the same. */
  clock: trouble('clock', ({ open }) => open.clock.message),
  outage: source({
    read: ({ db }) => readPostingOutage(db.sql),
    troubles: {
      outage: (known) =>
        known === null ? null : `${describeOutage(known)} Nothing is posted until it is over.`,
    },
  }),
  /** Until when the next plan has to be made, and the sentence of one that is late; null without a watch. */
  planning: source({
    read: async ({ db: { sql }, open }) => {
      const [row = null] = await sql<{ dueBy: Date }[]>`select due_by as "dueBy" from plan_deadline`
      return row === null ? null : { ...row, late: open.no_run.message }
    },
    figures: {
      plan_due_timestamp_seconds: {
        help: 'Until when the next plan has to be made: when it has passed, no runner works.',
        value: (read) => (read === null ? null : read.dueBy.getTime() / 1000),
      },
    },
    troubles: { no_run: (read) => read?.late ?? null },
  }),
  jobs: source<readonly JobLine[]>({
    read: ({ db: { sql } }) => sql<JobLine[]>`
      select j.job, last.state, last.at, last.error, success.at as "lastSuccessAt", day.done, day.failed,
        day.missed
      from unnest(${JOBS.map(({ name }) => name)}::text[]) with ordinality as j (job, place)
      left join lateral (
        select r.state, coalesce(r.ended_at, r.started_at, r.slot) as at, r.error from job_run r
        where r.job = j.job and r.state in ('done', 'failed') order by r.slot desc limit 1
      ) last on true
      left join lateral (
        select r.ended_at as at from job_run r where r.job = j.job and r.state = 'done' order by r.slot desc
          limit 1
      ) success on true
      cross join lateral (
        select count(*) filter (where r.state = 'done') as done, count(*)
          filter (where r.state = 'failed') as failed,
          count(*) filter (where r.state = 'missed') as missed
        from job_run r where r.job = j.job and r.slot > (select clock_timestamp() - interval '24 hours')
      ) day
      order by j.place`,
    figures: {
      job_runs_last_day: {
        help: 'Runs of each job within 24 hours, by how they ended.',
        labels: ['job_name', 'state'],
        value: (read) =>
          read.flatMap(({ job, done, failed, missed }) =>
            Object.entries({ done, failed, missed }).map(([state, value]) => ({
              labels: { job_name: job, state },
              value,
            })),
          ),
      },
      job_last_success_age_seconds: {
        help: 'Since the last successful run of each job.',
        labels: ['job_name'],
        value: (read, at) => sampleSuccesses(read, (last) => ageS(last, at) ?? 0),
      },
      job_last_success_timestamp_seconds: {
        help: 'When the last successful run of each job ended.',
        labels: ['job_name'],
        value: (read) => sampleSuccesses(read, (last) => last.getTime() / 1000),
      },
    },
    troubles: {
      job_failed: (read) => read.filter(({ state }) => state === 'failed').map(describeFailed),
    },
  }),
  work: source({
    read: ({ open }) => open,
    figures: {
      tasks: {
        help: 'Tasks that have not ended, by state.',
        labels: ['state'],
        value: (open) => STATES.map((state) => ({ labels: { state }, value: open[state].count })),
      },
      due_slots: {
        help:
          'Slots that are due and not measured: no plan has looked at them yet, their tasks have not ' +
          'ended, or the budget does not reach them.',
        value: (open) => DUE.reduce((sum, kind) => sum + open[kind].count, 0),
      },
      unplanned_slots: countOf(
        'unplanned',
        'Slots that are due and that no plan has looked at yet: one for each watch, also where several ' +
          'share a target.',
      ),
      budget_cut_slots: countOf('budget_cut', 'Slots that are due and that the budget does not reach.'),
      overdue_tasks: countOf('overdue', 'Posted tasks whose result is later than OVERDUE_AFTER.'),
      oldest_due_slot_age_seconds: {
        help: 'Age of the oldest slot that is due and not measured, planned or not; 0 without one.',
        value: (open, at) => Math.max(...DUE.map((kind) => ageS(open[kind].since, at) ?? 0)),
      },
      unknown_posts: countOf('unknown_post', 'Posts whose answer was lost and that are being looked for.'),
      held_posts: countOf('held_post', 'Posts that are ready and not sent, for a reason that status shows.'),
      refused_tasks: countOf(
        'refused_task',
        'Tasks that the service refused for money or the account, and that are tried again.',
      ),
    },
    troubles: {
      not_posted: ({ held_post, refused_task }, isHeld) =>
        isHeld ? null : [held_post, refused_task].flatMap(({ message }) => message ?? []),
      unknown_posts: ({ unknown_post: { count, since } }, _, at) =>
        since !== null && (ageS(since, at) ?? 0) > UNKNOWN_TOO_LONG_S
          ? `${count} posts are unknown, the oldest since ${formatMinute(since)}: look whether the job ` +
            'reconcile fails.'
          : null,
      overdue: ({ overdue: { count, since } }, _, at) =>
        since !== null && (ageS(since, at) ?? 0) > OVERDUE_TOO_LONG_S
          ? `${count} results are overdue, the oldest posted at ${formatMinute(since)}: select * from ` +
            `task_problem where kind = 'overdue'.`
          : null,
      budget: ({ budget_cut }) => budget_cut.message,
    },
  }),
  budgets: source({
    read: ({ db, settings }) => readBudgets(db, settings.budget),
    figures: {
      budget_used_usd: {
        help:
          'What each budget has used, reservations included; set_by is settings, account or project, and ' +
          'project is empty for all together.',
        labels: ['set_by', 'project', 'period'],
        value: (read) => read.map((line) => sampleOf(labelsOf(line), line.usedMicros)),
      },
      budget_allowed_usd: {
        help: 'What each budget allows; labels as in budget_used_usd.',
        labels: ['set_by', 'project', 'period'],
        value: (read) => read.map((line) => sampleOf(labelsOf(line), line.limitMicros)),
      },
    },
    troubles: { balance: (read) => read.find(({ period }) => period === 'balance')?.warning ?? null },
  }),
  /**
   * What other programs buy on the account is no difference of our books. The audit of a day comes in the two
   * nights after it; what was charged twice counts yesterday and today.
   */
  books: source({
    read: async ({ db: { sql } }) =>
      oneRow(
        await sql<{ differences: number; duplicateMicros: number }[]>`
        select (
          select count(*) from (
            select from audit_difference d
            where d.posted_at > (select clock_timestamp() - interval '8 days')
              and d.found_at > clock_timestamp() - interval '1 day'
              and (d.kind <> 'unknown' or d.task_id is not null)
            limit ${DIFFERENCES_COUNTED}) found
        ) as differences, (
          select coalesce(sum(s.duplicate_micros), 0)::bigint
          from spend s where s.scope = 0
            and s.begins_at >= date_trunc('day', storerank_now(), 'UTC') - interval '1 day'
        ) as "duplicateMicros"`,
      ),
    troubles: {
      books: ({ differences, duplicateMicros }) => {
        const differ =
          `The audit found ${differences} tasks of which the service's books and ours say different ` +
          'things: select * from audit_problem order by at desc.'
        const duplicate =
          `${formatUsd(duplicateMicros)} was charged for what was charged already: select * from ` +
          `task_problem where kind = 'duplicate'.`
        return [...(differences > 0 ? [differ] : []), ...(duplicateMicros > 0 ? [duplicate] : [])]
      },
    },
  }),
  /**
   * What keeps alerts from being told until a person acts, a sentence for each channel. Rules that match
   * nothing, and a receiver that did not take a message a minute ago, are told by the view and keep nobody
   * awake.
   */
  undelivered: trouble('not_told', async ({ db: { sql } }) => {
    const rows = await sql<{ message: string }[]>`
      select message from alert_problem
      where problem in ('channel_settings', 'receiver_gone', 'delivery_dead') order by subject, problem`
    return rows.map(({ message }) => message)
  }),
  /** Who else may write into the books, with what takes the right away. */
  otherWriters: trouble('other_writers', ({ db }) => describeOtherWriters(db.sql)),
  account: source({
    read: async ({ db: { sql }, settings: { callsPerMinute } }) => {
      const [row] = await sql<{ balanceMicros: number | null; callsUsed: number }[]>`
        select a.balance_micros as "balanceMicros", (
          select count(*) from api_call c
          where c.id > w.last_call_id - ${callsPerMinute}::int
            and c.permit_at > clock_timestamp() - interval '1 minute'
        ) as "callsUsed"
        from call_window w left join (select * from account_usage order by fetched_at desc limit 1) a on true`
      return { balanceMicros: null, callsUsed: 0, ...row, callsAllowed: callsPerMinute }
    },
    figures: {
      calls_last_minute: {
        help: 'Calls of the service within the last minute, over all runners.',
        value: ({ callsUsed }) => callsUsed,
      },
      calls_per_minute_allowed: { help: 'CALLS_PER_MINUTE.', value: ({ callsAllowed }) => callsAllowed },
      account_balance_usd: {
        help: "The account's balance, as it was read last.",
        value: ({ balanceMicros }) => (balanceMicros === null ? null : balanceMicros / USD),
      },
    },
  }),
  /** Of each project, and of all together (`project` is empty). */
  money: source<readonly { project: string; spentMicros: number; reservedMicros: number }[]>({
    read: ({ db: { sql } }) => sql`
      select coalesce(p.name, '') as project,
        sum(s.charged_micros + s.refunded_micros + s.duplicate_micros
          + s.adjusted_micros)::bigint as "spentMicros",
        sum(s.reserved_micros)::bigint as "reservedMicros"
      from spend s left join project p on p.id = s.scope
      where s.begins_at > storerank_now() - interval '3 days' and s.ends_at > storerank_now()
        and s.begins_at <= storerank_now() and (s.scope = 0 or p.id is not null)
      group by 1 order by 1`,
    figures: {
      spent_today_usd: {
        help: 'Money of today, less refunds; project is empty for all together.',
        labels: ['project'],
        value: (read) => read.map(({ project, spentMicros }) => sampleOf({ project }, spentMicros)),
      },
      reserved_today_usd: {
        help: 'Money reserved today for tasks that are not charged yet; project is empty for all together.',
        labels: ['project'],
        value: (read) => read.map(({ project, reservedMicros }) => sampleOf({ project }, reservedMicros)),
      },
    },
  }),
  queue: source({
    /** pg-boss makes its tables with the first command; monitoring logins have no right to them. */
    read: async ({ db: { sql } }) => {
      const [row] = await sql<{ isRead: boolean }[]>`
        select has_schema_privilege(relnamespace, 'usage') as "isRead" from pg_class
        where relnamespace = to_regnamespace('pgboss') and relname = 'job'`
      if (!row?.isRead) return []
      return sql<{ queue: string; state: string; jobs: number }[]>`
        select name as queue, state::text, count(*) as jobs from pgboss.job
        where name in ('post', 'fetch', 'job', 'deliver') and state < 'completed' group by 1, 2 order by 1, 2`
    },
    figures: {
      queue_jobs: {
        help: 'Jobs of the queue that have not ended.',
        labels: ['queue', 'state'],
        value: (read) => read.map(({ jobs, ...labels }) => ({ labels, value: jobs })),
      },
    },
  }),
  /** What the service says that is not well, for `status`. */
  service: source({ read: ({ db }) => readServiceTroubles(db) }),
}
