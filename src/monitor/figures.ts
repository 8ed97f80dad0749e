/**
 * What an operator watches, read in a few cheap statements: work, money, calls, jobs, the service and the
 * queue.
 */
import {
  type Outage,
  readPostingOutage,
  readServiceTroubles,
  type ServiceStatus,
} from '../account/service-status.ts'
import type { Database } from '../db/database.ts'
import { oneRow } from '../db/one-row.ts'
import { readRestoreHold } from '../ledger/restored.ts'
import type { OverallBudget } from '../plan/admission.ts'
import { type BudgetLine, readBudgets } from '../report/money.ts'
import { type OpenWork, readOpenWork } from '../report/status.ts'

/** What the figures are held against. */
export interface MonitorSettings {
  readonly budget: OverallBudget
  readonly callsPerMinute: number
  /** The jobs that `storerank start` wakes. */
  readonly jobs: readonly string[]
}

export interface JobFigures {
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

export interface WorkFigures {
  readonly planned: number
  readonly posting: number
  readonly posted: number
  /** Watches whose slot is due and that no plan has looked at yet. */
  readonly unplanned: number
  /** Slots that are due and that the budget does not reach. */
  readonly cut: number
  /** Posted, and later than OVERDUE_AFTER, whether they were asked for by id or not. */
  readonly overdue: number
  /** When the longest awaited of them was posted. */
  readonly overdueSince: Date | null
  /**
   * The oldest slot that is due and not measured; while nothing is planned, the first one that no plan has
   * looked at.
   */
  readonly oldestSlot: Date | null
  readonly unknownPosts: number
  readonly unknownSince: Date | null
  /** Posts that are not sent, and why the first of them is not. */
  readonly heldPosts: number
  readonly heldBecause: string | null
  /**
   * Tasks that the service refused by themselves, for money or the account, and why the first of them; they
   * are tried again.
   */
  readonly refusedTasks: number
  readonly refusedBecause: string | null
  /** The shortest `every` of all watches, in seconds; null without a watch. */
  readonly shortestEveryS: number | null
}

/** Money of today, of one project or of all (`project` is empty). */
export interface MoneyFigures {
  readonly project: string
  readonly spentMicros: number
  readonly reservedMicros: number
}

export interface Figures {
  readonly at: Date
  readonly open: readonly OpenWork[]
  readonly work: WorkFigures
  readonly jobs: readonly JobFigures[]
  readonly money: readonly MoneyFigures[]
  readonly budgets: readonly BudgetLine[]
  /** As the account said last; null when it never did. */
  readonly balanceMicros: number | null
  readonly balanceAt: Date | null
  readonly callsUsed: number
  readonly callsAllowed: number
  readonly queue: readonly { readonly queue: string; readonly state: string; readonly jobs: number }[]
  readonly service: readonly ServiceStatus[]
  readonly outage: Outage | null
  readonly restoreHold: string | null
  /** Why the server cannot write; null while it can. */
  readonly noRoom: string | null
  /** What keeps alerts from being told until a person acts, a sentence for each channel. */
  readonly untold: readonly string[]
  /**
   * Tasks of ours on which an audit of the past day found that the service's books and ours differ, at most
   * DIFFERENCES_COUNTED.
   */
  readonly differences: number
  /** Charged twice, yesterday and today. */
  readonly duplicateMicros: number
}

export async function readFigures(db: Database, settings: MonitorSettings): Promise<Figures> {
  const [row] = await db.sql<Pick<Figures, 'at' | 'balanceMicros' | 'balanceAt' | 'callsUsed'>[]>`
    select clock_timestamp() as at, a.balance_micros as "balanceMicros", a.fetched_at as "balanceAt", (
      select count(*) from api_call c
      where c.id > w.last_call_id - ${settings.callsPerMinute}::int
        and c.permit_at > clock_timestamp() - interval '1 minute'
    ) as "callsUsed"
    from call_window w left join (select * from account_usage order by fetched_at desc limit 1) a on true`
  const open = await readOpenWork(db)
  return {
    at: row?.at ?? new Date(),
    balanceMicros: row?.balanceMicros ?? null,
    balanceAt: row?.balanceAt ?? null,
    callsUsed: row?.callsUsed ?? 0,
    callsAllowed: settings.callsPerMinute,
    open,
    work: await readWork(db, open),
    jobs: await readJobs(db, settings.jobs),
    money: await readMoney(db),
    budgets: await readBudgets(db, settings.budget),
    queue: await readQueue(db),
    service: await readServiceTroubles(db),
    outage: await readPostingOutage(db.sql),
    restoreHold: await readRestoreHold(db.sql),
    noRoom: await readLackOfRoom(db),
    untold: await readUntold(db),
    ...(await readBooks(db)),
  }
}

const DIFFERENCES_COUNTED = 1_000

/**
 * What other programs buy on the account is no difference of our books. The audit of a day comes in the two
 * nights after it.
 */
async function readBooks({ sql }: Database): Promise<Pick<Figures, 'differences' | 'duplicateMicros'>> {
  const books = oneRow(
    await sql<Pick<Figures, 'differences' | 'duplicateMicros'>[]>`
    select (
      select count(*) from (
        select from audit_difference d
        where d.posted_at > (select clock_timestamp() - interval '8 days')
          and d.found_at > clock_timestamp() - interval '1 day'
          and (d.kind <> 'unknown' or d.task_id is not null)
        limit ${DIFFERENCES_COUNTED}) found
    ) as differences, (
      select coalesce(sum(s.duplicate_micros), 0)::bigint
      from (select * from spend where begins_at > storerank_now() - interval '3 days' union all select *
        from spend_change) s
      where s.scope = 0 and s.begins_at >= date_trunc('day', storerank_now(), 'UTC') - interval '1 day'
    ) as "duplicateMicros"`,
  )
  return books
}

/** Why the server cannot write; null while it can. */
export async function readLackOfRoom({ sql }: Database): Promise<string | null> {
  const [row] = await sql<{ reason: string | null }[]>`select lack_of_room() as reason`
  return row?.reason ?? null
}

/**
 * Rules that match nothing, and a receiver that did not take a message a minute ago, are told by the view and
 * keep nobody awake.
 */
async function readUntold({ sql }: Database): Promise<string[]> {
  const rows = await sql<{ message: string }[]>`
    select message from alert_problem where problem in ('channel_settings', 'receiver_gone', 'delivery_dead')
      order by subject, problem`
  return rows.map(({ message }) => message)
}

/** The counts are those of `open_work`; the reasons and intervals are looked up by indexes. */
async function readWork({ sql }: Database, open: readonly OpenWork[]): Promise<WorkFigures> {
  const told = oneRow(
    await sql<Pick<WorkFigures, 'heldBecause' | 'refusedBecause' | 'shortestEveryS'>[]>`
    select (select problem from post where state = 'ready' and problem is not null order by created_at
      limit 1) as "heldBecause",
      (select min(problem) from (
        select problem from task where state = 'planned' and status_code is null and problem is not null
        union all
        select k.problem from post p
        cross join lateral (
          select k.problem from task k where k.post_id = p.id and k.state = (select 'posting')
            and k.status_code is null offset 0
        ) k
        where p.state in ('sending', 'unknown')
      ) refused) as "refusedBecause",
      (select extract(epoch from min(every))::float8 from watch_period where ended_at is null
        and target_id is not null) as "shortestEveryS"`,
  )
  const of = (kind: string) => open.find((each) => each.kind === kind) ?? { count: 0, since: null }
  const due = ['unplanned', 'planned', 'posting', 'posted', 'budget_cut'].flatMap(
    (kind) => of(kind).since ?? [],
  )
  return {
    planned: of('planned').count,
    posting: of('posting').count,
    posted: of('posted').count,
    unplanned: of('unplanned').count,
    cut: of('budget_cut').count,
    overdue: of('overdue').count,
    overdueSince: of('overdue').since,
    oldestSlot: due.reduce<Date | null>(
      (oldest, slot) => (oldest !== null && oldest < slot ? oldest : slot),
      null,
    ),
    unknownPosts: of('unknown_post').count,
    unknownSince: of('unknown_post').since,
    heldPosts: of('held_post').count,
    refusedTasks: of('refused_task').count,
    ...told,
  }
}

async function readJobs({ sql }: Database, jobs: readonly string[]): Promise<JobFigures[]> {
  return sql<JobFigures[]>`
    select j.job, last.state, last.at, last.error, success.at as "lastSuccessAt", day.done, day.failed,
      day.missed
    from unnest(${[...jobs]}::text[]) with ordinality as j (job, place)
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
    order by j.place`
}

async function readMoney({ sql }: Database): Promise<MoneyFigures[]> {
  return sql<MoneyFigures[]>`
    select coalesce(p.name, '') as project,
      sum(s.charged_micros + s.refunded_micros + s.duplicate_micros
        + s.adjusted_micros)::bigint as "spentMicros",
      sum(s.reserved_micros)::bigint as "reservedMicros"
    from (select * from spend where begins_at > storerank_now() - interval '3 days' union all select *
      from spend_change) s
    left join project p on p.id = s.scope
    where s.ends_at > storerank_now() and s.begins_at <= storerank_now() and (s.scope = 0 or p.id is not null)
    group by 1 order by 1`
}

/** pg-boss makes its tables with the first command that works. */
async function readQueue({ sql }: Database): Promise<Figures['queue']> {
  const [row] = await sql<{ there: boolean }[]>`select to_regclass('pgboss.job') is not null as there`
  if (!row?.there) return []
  return sql<Figures['queue'][number][]>`
    select name as queue, state::text, count(*) as jobs from pgboss.job
    where name in ('post', 'fetch', 'job', 'deliver') and state < 'completed' group by 1, 2 order by 1, 2`
}
