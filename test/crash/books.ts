/**
 * Three books that know nothing of each other: what the sandbox wrote down, our money and tasks, our history.
 * The sandbox's is read past all of our code, put into a table beside ours, and compared there.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type postgres from 'postgres'
import type { Random } from '../support/random.ts'
import type { SandboxServer } from './servers.ts'
import { type Arrival, WIRE_LIMITS, type Wire } from './wire.ts'
import { PERIODS_BEHIND, WINDOW_MS, type World } from './world.ts'

export interface Findings {
  readonly tasks: number
  readonly captures: number
  /** Slots that have a reason instead of a result, by its kind. */
  readonly gaps: Readonly<Record<string, number>>
  /** Tasks beyond the first that the service was paid for one target and slot. */
  readonly chargedTwice: number
  /** Paid for, and neither stored nor recorded as failed. */
  readonly lost: number
  /** History without a paid result, or that differs from what the sandbox gives. */
  readonly madeUp: number
  /**
   * Service ids whose money differs between the sandbox and us, and totals that differ from our charges and
   * reservations.
   */
  readonly moneyDiffers: number
  /** Project days and overall days above their budget. */
  readonly overBudget: number
  readonly overCallLimit: number
  /** Slots that ended while watched, with neither result nor reason; minutes of a job without a record. */
  readonly silent: number
  readonly unsettled: number
  /** The first rows behind the faults, to look at. */
  readonly samples: readonly string[]
}

const PAGE = 1000
/** Results that are asked for again and compared item by item, some 700 a second; beyond that a sample. */
const COMPARED_AT_MOST = 30_000
const AT_ONCE = 16
const SAMPLE = 3
const LIST_LAG_MS = 1000
const DAY_MS = 86_400_000

export interface Books {
  readonly world: World
  readonly sandbox: SandboxServer
  readonly wire: Pick<Wire, 'arrivals'>
  readonly callsPerWindow: number
}

export async function compareBooks(
  { world, sandbox, wire, callsPerWindow }: Books,
  random: Random,
): Promise<Findings> {
  const { sql } = world
  await copyBook(sql, sandbox)
  const open = await world.countOpen()
  const overCallLimit = listOverCallLimit(wire.arrivals, callsPerWindow)
  const samples = overCallLimit.slice(0, SAMPLE).map((one) => JSON.stringify(one))
  const count = async (text: string, ...parameters: number[]) => {
    const rows = await sql.unsafe(text, parameters)
    samples.push(...rows.slice(0, SAMPLE).map((row) => JSON.stringify(row)))
    return rows.length
  }
  return {
    ...(await countHistory(sql)),
    chargedTwice: await count(CHARGED_TWICE),
    lost: await count(LOST),
    madeUp: (await count(WITHOUT_PAYMENT)) + (await countWrongRanks(sql, sandbox, random)),
    moneyDiffers: (await count(MONEY_DIFFERS)) + (await count(TOTALS_DIFFER)) + (await count(LEDGER_DIFFERS)),
    overBudget: (await count(OVER_PROJECT_BUDGET)) + (await count(OVER_ALL, world.maxDayMicros)),
    overCallLimit: overCallLimit.length,
    silent: (await count(SILENT)) + (await count(NOT_CLOSED)) + (await count(JUMPED_OVER)),
    unsettled: open.planned + open.posting + open.posted + open.posts,
    samples,
  }
}

async function countHistory(sql: postgres.Sql): Promise<Pick<Findings, 'tasks' | 'captures' | 'gaps'>> {
  const [book] = await sql<{ tasks: number }[]>`select count(*) as tasks from crash_book`
  const rows = await sql<{ gap: string | null; slots: number }[]>`
    select gap, count(*) as slots from ranking group by gap order by gap`
  return {
    tasks: book?.tasks ?? 0,
    captures: rows.find((row) => row.gap === null)?.slots ?? 0,
    gaps: Object.fromEntries(rows.flatMap((row) => (row.gap === null ? [] : [[row.gap, row.slots]]))),
  }
}

interface BookRow {
  readonly id: string
  readonly cost: number
  readonly status: string
  readonly metadata: { readonly tag: string }
}

/**
 * The slot of a paid task is what our task of that tag says, or our charge of that service id where the task
 * is forgotten, and of the book alone where we know nothing. A tag is claimed once.
 */
async function copyBook(sql: postgres.Sql, { url, clockOffsetMs }: SandboxServer): Promise<void> {
  // As it is sold, the list ends before the present second.
  await sleep(LIST_LAG_MS)
  const listedToMs = Date.now() + clockOffsetMs - LIST_LAG_MS
  const rows: BookRow[] = []
  const range = { datetime_from: stamp(listedToMs - DAY_MS), datetime_to: stamp(listedToMs), sort: 'asc' }
  for (let offset = 0; ; offset += PAGE) {
    const page = await ask<BookRow[]>(url, 'app_data/id_list', [
      { ...range, offset, limit: PAGE, include_metadata: true },
    ])
    rows.push(...page)
    if (page.length < PAGE) break
  }
  const statuses = rows.map((row) => readStatus(row.status))
  await sql`
    create table crash_book as
    select b.service_id, b.task_id, b.attempt, b.cost_micros, b.status,
      coalesce(k.target_id, c.target_id) as target_id,
      coalesce(k.slot, c.slot, 'infinity') as slot, coalesce(m.claimed_at, c.at) as claimed_at
    from unnest(${rows.map((row) => row.id)}::text[],
      ${rows.map((row) => row.metadata.tag.split('.')[0] ?? '')}::uuid[],
      ${rows.map((row) => Number(row.metadata.tag.split('.')[1]))}::int[],
      ${rows.map((row) => Math.round(row.cost * 1_000_000))}::bigint[], ${statuses}::text[])
      as b (service_id, task_id, attempt, cost_micros, status)
    left join task k on k.id = b.task_id
    left join lateral (
      select e.target_id, e.slot, e.at from charge e where e.service_id = b.service_id
        and e.kind in ('charge', 'duplicate')
      limit 1) c on true
    left join lateral (
      select max(at) as claimed_at from crash_claim where task_id = b.task_id and attempt = b.attempt) m
        on true`
  await sql`create index on crash_book (service_id)`
  await sql`create index on crash_book (target_id, slot)`
}

/** As it is sold, the status is a message. */
function readStatus(status: string): string {
  return status === 'Internal SE Server Error.' ? '40101' : status
}

const UNTRUE_TO_THE_END = `r.gap = 'failed' and r.reason ~ '^The answer is (about|older)'`

/** What the service failed by itself (40101) may be bought again, three times in all. */
const CHARGED_TWICE = `
  select 'charged twice' as what, * from (
    select *, row_number() over (partition by subject_key, slot order by service_id) as time_in_all,
      row_number() over (partition by subject_key, slot, status = '40101' order by service_id) as time
    from (select *, coalesce(target_id::text, task_id::text) as subject_key from crash_book) as book) as paid
  where time_in_all > 3 or time > case status when '40101' then 3 else 1 end`

/**
 * What the service failed has no result. Nor has a task of which no answer was about what was asked: its gap
 * says what the last one was about.
 */
const LOST = `
  select distinct on (coalesce(b.target_id::text, b.task_id::text), b.slot) 'lost' as what, b.*, r.gap,
    r.reason
  from crash_book b left join ranking r using (target_id, slot)
  where b.status <> '40101' and (r.slot is null or r.gap is not null and not (${UNTRUE_TO_THE_END}))`

const WITHOUT_PAYMENT = `
  select 'without payment' as what, r.target_id, r.slot from ranking r
  where r.gap is null and not exists (
    select from crash_book b where b.target_id = r.target_id and b.slot = r.slot and b.status <> '40101')`

const MONEY_DIFFERS = `
  select 'money differs' as what, service_id, theirs.micros as theirs, ours.micros as ours
  from (select service_id, sum(cost_micros) as micros from crash_book group by 1) theirs
  full join (
    select service_id, sum(amount_micros) as micros from charge group by 1) ours using (service_id)
  where theirs.micros is distinct from ours.micros`

/**
 * What the transitions counted, beside what there is: charges by kind, and reservations of the tasks that may
 * yet be sent.
 */
const TOTALS_DIFFER = "select 'totals differ' as what, * from spend_difference"

const LEDGER_DIFFERS = `
  select 'ledger differs' as what, l.*, s.*
  from ledger l cross join (
    select coalesce(sum(reserved_micros), 0) as reserved,
      coalesce(sum(charged_micros + duplicate_micros), 0) as taken
    from spend where scope = 0 and change_id = 0) s
  where (l.reserved_micros, l.taken_micros) <> (s.reserved, s.taken)`

/**
 * The budget of a day is the highest that held on it. At each claim, what was paid in full for the claims of
 * its day so far must fit in, less what had come back by then, for tasks of any day: the end of the day would
 * hide what was lent by refunds.
 */
const OVER_PROJECT_BUDGET = `
  with entry as (
    select p.name as project, c.kind, c.amount_micros, x.at,
      date_trunc('day', x.at at time zone p.timezone) as day
    from charge c join crash_book b using (service_id) join project p on p.id = c.project_id
    cross join lateral (select case c.kind when 'refund' then c.at else b.claimed_at end as at) x
  ),
  spent as (
    select *, sum(amount_micros) over (partition by project, day order by at) as micros from entry
  ),
  held as (
    select g.project, g.at at time zone p.timezone as since,
      lead(g.at, 1, 'infinity') over (partition by g.project order by g.at) at time zone p.timezone as until,
        g.micros
    from crash_budget g join project p on p.name = g.project
  )
  select distinct on (s.project, s.day) 'over project budget' as what, s.project, s.day, s.at, s.micros
  from spent s
  where s.kind <> 'refund' and s.micros > (
    select max(h.micros) from held h where h.project = s.project and h.since < s.day + interval '1 day'
      and h.until > s.day)
  order by s.project, s.day, s.at`

/**
 * The same by what the sandbox was paid; our own book says only when it was claimed, and what came back when.
 */
const OVER_ALL = `
  with refund as (
    select c.service_id, c.at, c.amount_micros as micros
    from charge c join crash_book b using (service_id) where c.kind = 'refund'
  ),
  entry as (
    select true as is_claim, claimed_at as at,
      cost_micros - coalesce((select sum(micros) from refund r where r.service_id = b.service_id),
        0) as micros
    from crash_book b
    union all
    select false, at, micros from refund
  ),
  dated as (
    select *, date_trunc('day', at, 'UTC') as day from entry
  ),
  spent as (
    select *, sum(micros) over (partition by day order by at) as spent_micros from dated
  )
  select distinct on (day) 'over budget' as what, day, at, spent_micros from spent
  where is_claim and spent_micros > $1::bigint order by day, at`

const SILENT = `
  select 'silent' as what, p.*, s.slot
  from watch_period p cross join lateral generate_series(p.first_slot, (select opened_to from ledger),
    p.every) as s (slot)
  where p.kind = 'keyword' and s.slot + p.every <= least(storerank_now(), p.ended_at)
    and s.slot <= coalesce(p.last_slot, 'infinity')
    and not exists (select from ranking r where r.target_id = p.target_id and r.slot = s.slot)
    and not exists (select from period_change c where c.period_id = p.id and c.from_slot <= s.slot)
    and not exists (select from due_slot d where d.target_id = p.target_id and d.slot = s.slot)
    and not exists (
      select from task k where k.target_id = p.target_id and k.slot = s.slot and k.state <> 'dropped')`

/** `opened_to` is ours: were it never moved, no slot would seem to be silent. */
const NOT_CLOSED = `select 'not closed' as what, p.* from (${PERIODS_BEHIND}) p`

/** A minute that nobody had the time to wake a job in is on record as missed. */
const JUMPED_OVER = `
  select 'jumped over' as what, job, slot
  from (
    select job, generate_series(min(slot), max(slot), interval '1 minute') as slot from job_run
    where job in ('collect', 'reconcile', 'status') and slot = date_trunc('minute', slot) group by job
  ) minute left join job_run r using (job, slot)
  where r.slot is null`

interface OneTooMany {
  readonly kind: string
  readonly first: Arrival | undefined
  readonly last: Arrival
}

/**
 * Arrivals that were certainly one too many of the last window, by kind and over all, with the first one of
 * that window.
 */
function listOverCallLimit(arrivals: readonly Arrival[], callsPerWindow: number): OneTooMany[] {
  const limits = { ...WIRE_LIMITS, all: callsPerWindow }
  return Object.entries(limits).flatMap(([kind, limit]) => {
    const counted = arrivals.filter((one) => kind === 'all' || one.kind === kind)
    return counted
      .map((last, index) => ({ kind, first: counted[index - limit], last }))
      .filter(({ first, last }) => last.latestMs - (first?.earliestMs ?? -WINDOW_MS) < WINDOW_MS)
  })
}

interface Stored {
  readonly subject: string
  /** It says what it lacks. */
  readonly isPartial: boolean
  /** By rank; empty for a hole. */
  readonly ids: string[]
  readonly serviceIds: string[]
}

/** Asks the sandbox again for the results of what we stored, and counts those that say something else. */
async function countWrongRanks(sql: postgres.Sql, sandbox: SandboxServer, random: Random): Promise<number> {
  const all = await sql<(Stored & { place: number })[]>`
    select t.subject, r.reason is not null as "isPartial",
      array(select coalesce(a.app_id, '') from unnest(r.app_ids) with ordinality i (id, n)
        left join app a on a.id = i.id order by i.n) as ids,
      array(select b.service_id from crash_book b where b.target_id = r.target_id and b.slot = r.slot
        and b.status <> '40101') as "serviceIds"
    from ranking r join target t on t.id = r.target_id where r.gap is null`
  const share = Math.min(1, COMPARED_AT_MOST / all.length)
  const compared = all.filter((one) => one.serviceIds.length > 0 && random.chance(share))
  let wrong = 0
  const work = async () => {
    for (let one = compared.pop(); one !== undefined; one = compared.pop()) {
      if (!(await isTrue(one, sandbox))) wrong += 1
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  return wrong
}

interface SearchAnswer {
  readonly keyword: string
  readonly items: readonly { readonly type: string; readonly rank_group: number; readonly app_id: string }[]
}

async function isTrue(stored: Stored, { url, isSold }: SandboxServer): Promise<boolean> {
  const store = isSold ? 'apple' : 'ios_store'
  for (const id of stored.serviceIds) {
    const result = await ask<SearchAnswer[] | null>(
      url,
      `app_data/${store}/app_searches/task_get/advanced/${id}`,
    )
    const given = result?.[0]
    const organic = (given?.items ?? []).filter((item) => item.type.endsWith('_organic'))
    const isSame =
      (organic.length === stored.ids.length || stored.isPartial) &&
      organic.every(({ app_id, rank_group }) => {
        const id = stored.ids[rank_group - 1] ?? ''
        return id === app_id || (stored.isPartial && id === '')
      })
    if (isSame && (given === undefined || given.keyword === stored.subject)) return true
  }
  return false
}

async function ask<Result>(sandboxUrl: string, path: string, body?: unknown): Promise<Result> {
  const headers = { 'content-type': 'application/json', authorization: `Basic ${btoa('sandbox:sandbox')}` }
  const init = body === undefined ? { headers } : { method: 'POST', headers, body: JSON.stringify(body) }
  const response = await fetch(`${sandboxUrl}/v3/${path}`, init)
  const answer = (await response.json()) as { tasks: [{ result: Result }] }
  return answer.tasks[0].result
}

/** As the service writes times (spec: Task object). */
function stamp(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19).replace('T', ' ')} +00:00`
}
