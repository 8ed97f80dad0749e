/**
 * The database of a run: watches of three projects that share targets, a business clock that jumps, and
 * people who edit.
 */
import { pino } from 'pino'
import postgres from 'postgres'
import { openDatabase } from '../../src/db/database.ts'
import { openQueue } from '../../src/queue/queue.ts'
import { importWatches } from '../../src/watch/import.ts'
import { shortenCallWindow } from '../support/call-window.ts'
import type { Random } from '../support/random.ts'
import { installFailures } from './outages.ts'
import { migrateByMany } from './versions.ts'

export interface World {
  readonly url: string
  /** Another one after `renew`. */
  readonly sql: postgres.Sql
  readonly maxDayMicros: number
  /** Business time leaps; every claim falls clearly before it or after it. */
  jump(interval: string): Promise<void>
  /** What a person might do to the watchlist and the budgets. */
  edit(random: Random): Promise<string>
  countOpen(): Promise<Open>
  /** Tasks that we know to be paid for. */
  countPaid(): Promise<number>
  /**
   * Connects anew: a client that lost its server in the middle of a write is of no more use (TypeError in
   * postgres.js).
   */
  renew(): void
  close(): Promise<void>
}

/**
 * Watches that are `behind`: slots of theirs that ended more than two days ago, longer than any slot and any
 * leap of the clock, are not opened, or not closed. Under many leaps and kills closing comes late.
 */
export const PERIODS_BEHIND = `
  select p.* from watch_period p
  where p.kind = 'keyword' and ((select slot_end(p.every, slot_end(p.every, slot_of(p.every, opened_to)))
    from ledger)
      < least(storerank_now() - interval '2 days', p.ended_at)
    or exists (
      select from period_change c where c.period_id = p.id
        and c.from_slot < storerank_now() - interval '2 days' - p.every)
    or exists (
      select from due_slot d where d.target_id = p.target_id
        and d.ends_at < storerank_now() - interval '2 days'))`

/**
 * Tasks and posts that are not settled, by state; and periods of watches whose slots are not closed.
 */
export interface Open {
  readonly behind: number
  readonly planned: number
  readonly posting: number
  readonly posted: number
  readonly posts: number
}

/** A tenth of the product's own window. */
export const WINDOW_MS = 6_000
const UNIT_MICROS = 1_200
const NAME = 'crash'
/** Name of the connections that nothing happens to but what happens to Postgres. */
export const HARNESS = 'crash harness'

/**
 * Makes a database on the server; the overall budget of a day is made for `keywords`.
 * @param migrating how many processes bring it up to date, all at once
 */
export async function createWorld(serverUrl: string, keywords: number, migrating: number): Promise<World> {
  const url = new URL(serverUrl)
  url.pathname = `/${NAME}`
  const admin = postgres(serverUrl, { max: 1, onnotice: () => {} })
  await admin`create database ${admin(NAME)}`
  await admin.end()
  await migrateByMany(url.href, migrating)
  const open = () =>
    postgres(url.href, {
      max: 4,
      onnotice: () => {},
      connection: { application_name: HARNESS, TimeZone: 'UTC' },
      types: { int8: { to: 20, from: [20], parse: Number, serialize: String } },
    })
  let sql = open()
  const queue = await openQueue(url.href, pino({ level: 'silent' }))
  await queue.stop(0)
  await installClock(sql)
  await noteClaims(sql)
  await shortenCallWindow(sql, WINDOW_MS)
  await installFailures(sql)
  return {
    url: url.href,
    get sql() {
      return sql
    },
    maxDayMicros: keywords * UNIT_MICROS * 6,
    jump: (interval) => jump(sql, interval),
    edit: async (random) => {
      const [name, work] = random.pick(Object.entries(EDITS))
      await work(sql, keywords, url.href)
      return name
    },
    countOpen: () => countOpen(sql),
    countPaid: async () => {
      const [row] = await sql<{ paid: number }[]>`
        select count(distinct service_id) as paid from charge where kind = 'charge'`
      return row?.paid ?? 0
    },
    renew: () => {
      sql.end({ timeout: 0 }).catch(() => {})
      sql = open()
    },
    close: () => sql.end({ timeout: 2 }),
  }
}

/**
 * Business time is the database's clock plus what the table says, so that it changes for everybody at once.
 * For the holder of the ledger's lock that clock stands still, as `lockLedger` sets it.
 */
async function installClock(sql: postgres.Sql): Promise<void> {
  await sql`create table crash_clock (ahead interval not null)`
  await sql`create table crash_budget (project text not null, at timestamptz not null, micros bigint)`
  await sql`insert into crash_clock select date_trunc('day', now()) + interval '1 day 10 hours 10 seconds'
    - now()`
  await sql`
    create or replace function storerank_now() returns timestamptz language sql stable parallel safe
    return (
      select coalesce(nullif(current_setting('storerank.now', true), '')::timestamptz, now()) + c.ahead
        from crash_clock c)`
}

/** When each attempt was claimed, by business time: a task itself knows only its last one. */
async function noteClaims(sql: postgres.Sql): Promise<void> {
  await sql.unsafe(`
    create table crash_claim (task_id uuid not null, attempt integer not null, at timestamptz not null);
    create index on crash_claim (task_id);
    create function crash_claim() returns trigger language plpgsql as $$
    begin
      insert into crash_claim values (new.id, new.attempt, storerank_now());
      return null;
    end $$;
    create trigger crash_claim after update on task for each row
    when (new.state = 'posting' and old.state <> 'posting') execute function crash_claim()`)
}

/**
 * A tenth of the product's own, but two; pg-boss refuses it as an option. Workers go by what their jobs say.
 */
export async function shortenHeartbeat(sql: postgres.Sql): Promise<void> {
  await sql`update pgboss.queue set heartbeat_seconds = 4`
}

/** Behind the ledger's lock, as claims are: the money day of each is then beyond doubt. */
async function jump(sql: postgres.Sql, interval: string): Promise<void> {
  await sql.begin(async (tx) => {
    await tx`select from ledger for update`
    await tx`update crash_clock set ahead = ahead + ${interval}::interval`
  })
}

async function countOpen(sql: postgres.Sql): Promise<Open> {
  const [row] = await sql<Open[]>`
    select count(*) filter (where state = 'planned') as planned, count(*)
      filter (where state = 'posting') as posting,
      count(*) filter (where state = 'posted') as posted,
      (select count(*) from post where state <> 'settled') as posts,
      (select count(*) from (${sql.unsafe(PERIODS_BEHIND)}) period) as behind
    from task`
  return row ?? { behind: 0, planned: 0, posting: 0, posted: 0, posts: 0 }
}

async function setBudget(sql: postgres.Sql, project: string, micros: number | null): Promise<void> {
  await sql.begin(async (tx) => {
    await tx`select from ledger for update`
    await tx`update project set daily_usd = ${micros}::numeric / 1000000 where name = ${project}`
    await tx`insert into crash_budget values (${project}, storerank_now(), ${micros})`
  })
}

const SUBJECTS = ['yoga', 'puzzle', 'budget', 'piano', 'recipes', 'chess']

async function watch(
  sql: postgres.Sql,
  project: string,
  [from, to]: readonly [number, number],
  fields: { readonly depth: number; readonly priority: number; readonly every: string },
): Promise<void> {
  await sql`
    insert into keyword_watch (project, store, keyword, location_code, language_code, depth, priority, every)
    select ${project}, 'ios_store', (${SUBJECTS}::text[])[1 + i % 6] || ' ' || i,
      2840, 'en', ${fields.depth}, ${fields.priority}, ${fields.every}::interval
    from generate_series(${from}::int, ${to}::int) i
    on conflict do nothing`
}

/**
 * Overlapping projects: alpha without a budget, beta with one that its day does not fit in, gamma deep,
 * urgent, in Tokyo.
 */
export async function watchProjects(sql: postgres.Sql, keywords: number): Promise<void> {
  const part = (share: number) => Math.max(1, Math.round(keywords * share))
  await sql`
    insert into project (name, timezone) values ('alpha', 'UTC'), ('beta', 'America/New_York'),
      ('gamma', 'Asia/Tokyo')`
  await setBudget(sql, 'beta', betaMicros(keywords))
  await setBudget(sql, 'gamma', part(0.1) * UNIT_MICROS * 6 * 3)
  await watch(sql, 'alpha', [1, part(0.7)], { depth: 100, priority: 1, every: '4 hours' })
  await watch(sql, 'beta', [part(0.4), keywords], { depth: 100, priority: 1, every: '6 hours' })
  await watch(sql, 'gamma', [part(0.35), part(0.45)], { depth: 250, priority: 2, every: '12 hours' })
}

/** One project, every day. */
export async function watchKeywords(sql: postgres.Sql, count: number, depth: number): Promise<void> {
  await addAlpha(sql)
  await watch(sql, 'alpha', [1, count], { depth, priority: 1, every: '1 day' })
}

/** A budget of a day for so many of these keywords. */
export async function allowAsMuchAs(sql: postgres.Sql, keywords: number): Promise<void> {
  await addAlpha(sql)
  await setBudget(sql, 'alpha', keywords * UNIT_MICROS)
}

/** At 10:00 UTC, when business time begins, it is five hours to the end of its day. */
async function addAlpha(sql: postgres.Sql): Promise<void> {
  await sql`insert into project (name, timezone) values ('alpha', 'Asia/Tokyo') on conflict do nothing`
}

const betaMicros = (keywords: number) => Math.round(keywords * 0.6) * UNIT_MICROS * 3

type Edit = (sql: postgres.Sql<{ int8: number }>, keywords: number, url: string) => Promise<unknown>

const EDITS: Readonly<Record<string, Edit>> = {
  'watches disabled': (sql) =>
    sql`update keyword_watch set enabled = false where id in (select id from keyword_watch
      order by random() limit 20)`,
  'watches enabled': (sql) => sql`update keyword_watch set enabled = true where not enabled`,
  'watches deleted': (sql) =>
    sql`delete from keyword_watch where id in (select id from keyword_watch order by random() limit 10)`,
  'watches put back': (sql, keywords) =>
    watch(sql, 'alpha', [1, Math.round(keywords * 0.7)], { depth: 100, priority: 1, every: '4 hours' }),
  'the same CSV imported twice': async (_, keywords, url) => {
    const rows = Array.from({ length: Math.round(keywords * 0.7) }, (_, index) => {
      const number = index + 1
      return `alpha,ios_store,${SUBJECTS[number % SUBJECTS.length]} ${number},2840,en,4 hours`
    })
    const csv = `project,store,keyword,location_code,language_code,every\n${rows.join('\n')}\n`
    const db = openDatabase(url, { name: HARNESS })
    await Promise.all([importWatches(db, csv), importWatches(db, csv)]).finally(db.close)
  },
  'budget lowered': (sql, keywords) => setBudget(sql, 'beta', Math.round(betaMicros(keywords) / 10)),
  'budget restored': (sql, keywords) => setBudget(sql, 'beta', betaMicros(keywords)),
  'project switched': (sql) => sql`update project set enabled = not enabled where name = 'gamma'`,
  'depth changed': (sql) => sql`
    update keyword_watch set depth = case depth when 100 then 180 else 100 end
    where project = 'beta' and id in (select id from keyword_watch where project = 'beta' order by random()
      limit 15)`,
}
