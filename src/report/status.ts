/** What commands say of a database: the latest ranks, runs, backlog, problems. */
import type { Database } from '../db/database.ts'
import { sql } from '../db/sql.ts'
import type { Movement } from './read-changes.ts'

export interface RankLine {
  readonly project: string
  readonly store: string
  /** The keyword; of a chart `chart` with its collection and category. */
  readonly keyword: string
  /** Country code, or the name of a smaller location. */
  readonly location: string
  readonly app: string
  readonly role: string
  readonly rank: number | null
  /** Ranks climbed since the day before; at least so many, where one of the two did not find the app. */
  readonly change: number | null
  readonly movement: Movement | null
  readonly depth: number | null
  readonly results: number | null
  readonly outcome: string
}

/** At most `limit` lines: own apps first, what is ranked before what is not, app by app. */
export async function readLatestRanks(db: Database, limit: number) {
  const lines = await db.sql<(RankLine & { total: number })[]>`
    select r.project, r.store, n.keyword,
      case when l.type = 'Country' then l.country_iso_code else r.location end as location,
      n.app, r.role, r.rank, r.change_1d as change,
      rank_movement(r.change_1d, r.outcome_1d, r.outcome) as movement, r.depth, r.results_count as results,
      r.outcome, count(*) over () as total
    from rank_change r
    cross join lateral (
      select coalesce(r.label, r.title, r.app_id) as app,
        case r.list when 'chart' then concat_ws(' ', 'chart', r.collection, r.category)
          else r.keyword end as keyword
    ) n
    left join location l on l.store = r.store and l.code = r.location_code
    order by r.role = 'own' desc, r.rank is null, r.project, n.app, r.store, r.rank, n.keyword, location
    limit ${limit}`
  return { lines: lines.map(({ total: _, ...line }) => line), total: lines[0]?.total ?? 0 }
}

/** When the next slot of any watch begins; null when nothing is watched. */
export async function readNextDue(db: Database): Promise<Date | null> {
  const [row] = await db.sql<{ at: Date | null }[]>`
    select min(slot_of(every, storerank_now()) + every) as at
    from watch_period where ended_at is null and target_id is not null`
  return row?.at ?? null
}

type Run = { job: string; slot: Date; state: string; endedAt: Date | null; error: string | null }

/** The last run of each job. */
export async function readLastRuns(db: Database) {
  return db.sql<(Run & { seconds: number | null })[]>`
    select r.job, r.slot, r.state, r.ended_at as "endedAt", r.error,
      round(extract(epoch from r.ended_at - r.started_at), 1)::float8 as seconds
    from known_job j
    cross join lateral (select * from job_run where job = j.job order by slot desc limit 1) r
    order by r.job`
}

/** A row of the view `open_work`: how many there are of a kind, since when, and what to do about them. */
export interface OpenWork {
  readonly kind: string
  readonly count: number
  readonly since: Date | null
  readonly message: string | null
}

/** What has not ended, a row for each kind whether there is any or not, all counted once. */
export async function readOpenWork(db: Database): Promise<OpenWork[]> {
  return db.sql<OpenWork[]>`select kind, count, since, message from open_work`
}

/** The kinds of `open_work` that are due and not measured. */
const BACKLOG_STATES = ['planned', 'posting', 'posted', 'budget_cut'] as const
export type BacklogState = (typeof BACKLOG_STATES)[number]

/** Tasks that have not ended, by state, and slots that wait for money, with the slot due for the longest. */
export function listBacklog(open: readonly OpenWork[]) {
  return open.flatMap(({ kind, count, since }) => {
    const state = BACKLOG_STATES.find((each) => each === kind)
    return state === undefined || since === null ? [] : [{ state, tasks: count, oldest: since }]
  })
}

/** When money is short a problem of every watch is the same; when the service is away, of every task. */
const PROBLEMS_COUNTED = 1_000

/**
 * Problems of watches and tasks, at most `limit` of them: those that the budget cuts after what a person has
 * to mend. `isMore`: there may be more than `total`, as of each kind only PROBLEMS_COUNTED are counted.
 */
export async function readProblems(db: Database, limit: number) {
  const watches = sql`select concat_ws(' ', watch_table, watch_id, project, store, subject) as about,
    message`
  const lines = await db.sql<{ about: string; message: string; total: number }[]>`
    select about, message, count(*) over () as total from (
      select about, message, 1 as place from (
        (${watches} from watch_problem where problem <> 'money' limit ${PROBLEMS_COUNTED})
        union all
        (select concat_ws(' ', store, function, subject, slot),
        message from task_problem limit ${PROBLEMS_COUNTED})
      ) mended
      union all
      (${watches}, 2 from watch_problem where problem = 'money' limit ${PROBLEMS_COUNTED})
    ) as problem
    order by place, about limit ${limit}`
  const total = lines[0]?.total ?? 0
  return {
    lines: lines.map(({ about, message }) => ({ about, message })),
    total,
    isMore: total >= PROBLEMS_COUNTED,
  }
}

export type ProblemCount = { readonly view: string; readonly kind: string; readonly count: number }

/**
 * How many problems of watches, tasks and audits there are, by view and kind, each up to PROBLEMS_COUNTED.
 * Kinds of tasks are asked for one by one, so that the bound of one hides no other; as constants, so that
 * each reads its own branch of the view alone.
 */
export async function readProblemCounts({ sql: db }: Database): Promise<ProblemCount[]> {
  const most = PROBLEMS_COUNTED
  return db<ProblemCount[]>`
    select view, kind, count(*) as count from (
      (select 'watch_problem' as view, problem as kind from watch_problem
        where problem <> 'money' limit ${most})
      union all (select 'watch_problem', problem from watch_problem where problem = 'money' limit ${most})
      union all (select 'task_problem', kind from task_problem where kind = 'failed' limit ${most})
      union all (select 'task_problem', kind from task_problem where kind = 'rejected' limit ${most})
      union all (select 'task_problem', kind from task_problem where kind = 'unknown' limit ${most})
      union all (select 'task_problem', kind from task_problem where kind = 'duplicate' limit ${most})
      union all (select 'task_problem', kind from task_problem where kind = 'price' limit ${most})
      union all (select 'task_problem', kind from task_problem where kind = 'overdue' limit ${most})
      union all (select 'task_problem', kind from task_problem where kind = 'service_failure' limit ${most})
      union all (select 'task_problem', kind from task_problem where kind = 'incomplete' limit ${most})
      union all (select 'audit_problem', kind from audit_problem limit ${most})
    ) problem
    group by 1, 2 order by 1, 2`
}

/** Tasks that failed since then, by their problem, the most frequent first. */
export async function readFailedSince(db: Database, since: Date) {
  return db.sql<{ problem: string; tasks: number }[]>`
    select coalesce(problem, 'no reason was given') as problem, count(*) as tasks
    from task where state = 'failed' and ended_at >= ${since}
    group by 1 order by 2 desc, 1 limit 20`
}

/** What is odd about projects as a whole, as sentences. */
export async function readProjectProblems(db: Database, limit: number): Promise<string[]> {
  const rows = await db.sql<{ message: string }[]>`
    select message from project_problem order by project, message limit ${limit}`
  return rows.map(({ message }) => message)
}

/** Whether anything is watched: its place is known after the next run, which loads references. */
export async function hasUnplacedWatches(db: Database): Promise<boolean> {
  const [row] = await db.sql<{ some: boolean }[]>`
    select exists (select from keyword_watch where enabled) or exists (select from chart_watch where enabled)
      or exists (select from app_watch where enabled and (info or reviews)) as some`
  return row?.some ?? false
}
