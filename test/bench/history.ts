/**
 * A history as if it had been collected for as long as asked, made by SQL in minutes: one search a day of
 * every keyword, the watched apps moving up and down in it, now and then a gap, the money of each
 * measurement, and the tasks that are not pruned yet.
 */
import type { Database, Transaction } from '../../src/db/database.ts'
import { sql } from '../../src/db/sql.ts'

export interface HistorySize {
  readonly keywords: number
  readonly days: number
  /** In each result. */
  readonly apps: number
}

export const PROJECT = 'bench'
/** Shares a fifth of the keywords. */
export const NEIGHBOUR = 'neighbour'
const TIMEZONE = 'Europe/Berlin'
const OWN_APPS = 2
export const WATCHED_APPS = 5
/** In the dictionary. */
const APPS = 5_000
/** How far all apps move up and down, day by day. */
const WANDER = 20
const TASKS_A_POST = 100
/** As long as a task is kept when it has ended. */
const TASK_DAYS = 90
const STATEMENT_LIMIT_MS = 600_000

/** The last slot is the one of today, and not measured yet. */
export async function fillHistory(
  db: Database,
  size: HistorySize,
  say: (what: string) => void,
): Promise<void> {
  const begin = <Result>(work: (tx: Transaction) => Promise<Result>) =>
    db.begin(work, { name: 'Filling the history', statementTimeoutMs: STATEMENT_LIMIT_MS })
  await begin((tx) => fillWatches(tx, size))
  // Else it would be a matter of chance which tables have statistics.
  await db.sql.unsafe(`do $$ declare t regclass; begin
    for t in select oid from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r' loop
      execute format('alter table %s set (autovacuum_enabled = off)', t);
    end loop; end $$`)
  const months = await db.sql<{ first: number; last: number }[]>`
    select min(day)::int as first, max(day)::int as last from generate_series(1, ${size.days}::int) day
    group by date_trunc('month', ${today} - day * interval '24 hours', 'UTC') order by 1`
  for (const { first, last } of months) {
    say(`${Math.round((100 * first) / size.days)} % of the history`)
    await begin((tx) => fillDays(tx, size, first, last))
  }
  await begin((tx) => fillTasks(tx))
  await begin((tx) => tx`select recount_spend()`)
  await begin((tx) => tx`with opened as (delete from period_change) update ledger set opened_to = now()`)
  await begin(
    (tx) => tx`
      update target set check_url = 'https://apps.example.com/us/search?term=' || replace(subject, ' ', '%20')
        || '&country=us&language=en'`,
  )
  // As autovacuum does while rows come in.
  await db.sql`select brin_summarize_new_values('charge_by_time')`
}

const today = sql`date_trunc('day', now(), 'UTC')`

async function fillWatches(tx: Transaction, { keywords, days }: HistorySize): Promise<void> {
  await tx`select set_config('storerank.now', (now() - ${days}::int * interval '24 hours')::text, true)`
  await tx`insert into project (name, timezone) values (${PROJECT}, ${TIMEZONE}), (${NEIGHBOUR}, 'UTC')`
  await tx`
    insert into app (store, app_id, title, developer)
    select 'ios_store', (1000000000 + n)::text, 'The title of app ' || n, 'Developer ' || n % 900
    from generate_series(1, ${APPS}::int) n`
  await tx`
    insert into app_watch (project, store, app_id, role)
    select ${PROJECT}, 'ios_store', (1000000000 + n)::text, case when n <= ${OWN_APPS}::int then 'own'
      else 'competitor' end
    from generate_series(1, ${WATCHED_APPS}::int) n
    union all select ${NEIGHBOUR}, 'ios_store', '1000000009', 'own'`
  await tx`
    insert into keyword_watch (project, store, keyword, location_code, language_code, weight, tags)
    select p.name, 'ios_store', 'keyword ' || n, 2840, 'en', 1 + n % 3,
      array[case n % 4 when 0 then 'brand' else 'core' end]
    from generate_series(1, ${keywords}::int) n
    join project p on p.name = ${PROJECT} or n % 5 = 0`
  await tx`
    select ensure_history_partitions(now() - ${days}::int * interval '24 hours', now() + interval '1 month')`
  // More than a result has, so that the apps at both ends come and go.
  await tx`
    create table bench_base as
    select t.id as target_id, k.n, array(
      select coalesce(
        (select w from generate_series(1, ${WATCHED_APPS}::int) w where 1 + (k.n * (7 + 4 * w)) % 200 = place
          limit 1),
        10 + (k.n * 37 + place * (array[1, 3, 7, 9, 11, 13])[1 + k.n % 6]) % ${APPS - 10}::int)
      from generate_series(1, 130) place
    ) as ids
    from target t cross join lateral (select substr(t.subject, 9)::int as n) k`
}

/** Days are counted back from today. */
async function fillDays(tx: Transaction, { apps }: HistorySize, first: number, last: number): Promise<void> {
  await tx`
    insert into ranking (target_id, slot, captured_at, gap, reason, depth, results_count, app_ids)
    select b.target_id, s.slot, case when g.gap is null then s.slot + interval '40 minutes' end, g.gap,
      case g.gap when 'budget' then 'project_budget' end, ${apps}::smallint, 250,
      case when g.gap is null then b.ids[1 + w.shift:${apps}::int + w.shift - 1]
        || (20 + (b.n * 131 + day * 17) % ${APPS - 20}::int) end
    from generate_series(${first}::int, ${last}::int) day
    cross join lateral (select ${today} - day * interval '24 hours' as slot) s
    cross join bench_base b
    cross join lateral (select abs((day + b.n) % ${2 * WANDER}::int - ${WANDER}::int) as shift) w
    cross join lateral (
      select case (day * 31 + b.n * 17) % 240 when 0 then 'budget' when 1 then 'missed' when 2
        then 'failed' end as gap
    ) g
    order by s.slot, b.target_id`
  await tx`
    insert into charge (at, slot, amount_micros, target_id, project_id, kind, service_id)
    select r.slot + interval '5 minutes', r.slot, 1200 / count(*)
      over (partition by r.target_id, r.slot), r.target_id, p.id,
      'charge', md5(r.target_id || ' ' || r.slot)
    from ranking r
    join watch_period w on w.target_id = r.target_id
    join project p on p.name = w.project
    where r.gap is null and r.slot between ${today} - ${last}::int * interval '24 hours'
      and ${today} - ${first}::int * interval '24 hours'
    order by r.slot, r.target_id`
}

/** Those of today are posted. */
async function fillTasks(tx: Transaction): Promise<void> {
  await tx`
    create table bench_task as
    select d.*, d.slot + interval '24 hours' > now() as is_open,
      md5('task ' || d.target_id || ' ' || d.slot) as service_id,
      ((row_number() over (order by d.slot, d.target_id)) - 1) / ${TASKS_A_POST}::int as pack
    from (
      select r.target_id, r.slot from ranking r where r.slot > now() - ${TASK_DAYS}::int * interval '24 hours'
        and r.gap is null
      union all select b.target_id, ${today} from bench_base b
    ) d`
  await tx`
    create table bench_post as
    select pack, min(slot) as slot, uuid_v7() as id from bench_task group by pack`
  await tx`
    insert into post (id, store, function, state, settled_at)
    select id, 'ios_store', 'app_searches', 'settled', slot + interval '5 minutes' from bench_post
      order by pack`
  await tx`
    insert into task (target_id, slot, slot_ends_at, state, priority, estimate_micros, payers, reserved_at,
      post_id, service_id,
      posted_at, overdue_at, ask_at, ended_at, status_code, planned_at)
    select k.target_id, k.slot, k.slot + interval '24 hours', case when k.is_open then 'posted'
      else 'collected' end, 1, 1200, '{1}',
      k.slot, p.id, k.service_id, k.slot + interval '5 minutes', case when k.is_open then now() end, case
        when k.is_open then now() end,
      case when not k.is_open then k.slot + interval '40 minutes' end, case when not k.is_open
        then 20000 end, k.slot
    from bench_task k join bench_post p using (pack) order by k.slot, k.target_id`
}
