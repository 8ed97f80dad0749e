/**
 * What the present watches cost a day and a month (30 days), or would with another interval, depth or
 * priority. Budgets cut nothing here, and refunds are not known beforehand (forecast.sql).
 */
import type { Database, SqlRunner } from '../db/database.ts'
import { disableNestedLoops } from '../db/joins.ts'
import { oneRow } from '../db/one-row.ts'
import { type Statement, sql } from '../db/sql.ts'

export const FORECAST_DAYS = 30
const END = sql`storerank_now() + make_interval(hours => 24 * ${FORECAST_DAYS}::int)`

/** What is asked about: the watches of a project, or with a tag, and how they would be measured instead. */
export interface ForecastQuestion {
  readonly project?: string
  readonly tag?: string
  /** As Postgres reads an interval: `6 hours`. */
  readonly every?: string
  readonly depth?: number
  readonly priority?: 1 | 2
}

interface Cost {
  readonly watches: number
  readonly measurements: number
  /** On average. */
  readonly dayMicros: number
  readonly monthMicros: number
}

export interface ForecastLine extends Cost {
  readonly project: string
  readonly store: string
  readonly function: string
  readonly priority: number
}

/** A watch with several tags counts in each. */
export interface TagLine extends Cost {
  readonly tag: string
}

export interface ForecastTotal {
  /** A shared one counts once. */
  readonly measurements: number
  readonly dayMicros: number
  readonly monthMicros: number
  /** What projects would pay more for the same without sharing. */
  readonly savedMicros: number
}

/** What one day costs: of all projects (scope 0, in UTC), or of one with a budget, in its time zone. */
export interface ForecastDay {
  readonly scope: number
  /** `2026-11-22` */
  readonly day: string
  readonly micros: number
  /** The most measurements that are due at one instant of the day. */
  readonly mostAtOnce: number
}

export interface Forecast {
  /** Of the chosen watches, as they are measured after the change. */
  readonly lines: readonly ForecastLine[]
  readonly tags: readonly TagLine[]
  /** Of all watches, after the change. */
  readonly total: ForecastTotal
  readonly days: readonly ForecastDay[]
}

/** Reads one snapshot, so that lines, totals and days are of the same watches. */
export async function readForecast(db: Database, question: ForecastQuestion): Promise<Forecast> {
  return db.begin(
    async (tx) => {
      await disableNestedLoops(tx)
      const lines = await tx<ForecastLine[]>`
        with line as materialized (${linesOf(question)})
        select project, store, function, priority, ${COST} from line where is_chosen group by 1, 2, 3, 4
          order by 1, 2, 3, 4`
      const tags = await tx<TagLine[]>`
        with line as materialized (${linesOf(question)})
        select tag, ${COST} from line cross join lateral unnest(tags) tag where is_chosen group by 1
          order by 1`
      const days = await tx<ForecastDay[]>`${daysOf(question)}`
      return { lines, tags, total: await readTotal(tx, question), days }
    },
    { isReadOnlySnapshot: true },
  )
}

/** What all watches cost in a month, as the transaction of the caller sees them. */
export async function readTotal(db: SqlRunner, question: ForecastQuestion = {}): Promise<ForecastTotal> {
  const rows = await db<ForecastTotal[]>`
    select coalesce(sum(slots) filter (where is_first), 0)::bigint as measurements,
      round(coalesce(sum(share_micros * slots), 0) / ${FORECAST_DAYS}::int)::bigint as "dayMicros",
      coalesce(sum(share_micros * slots), 0)::bigint as "monthMicros",
      coalesce(sum((alone_micros - share_micros) * slots), 0)::bigint as "savedMicros"
    from (${linesOf(question)}) line`
  return oneRow(rows)
}

function linesOf({ project, tag, every, depth, priority }: ForecastQuestion): Statement {
  return sql`
    select * from forecast_lines(storerank_now(), ${END}, ${every ?? null}::text::interval,
      ${depth ?? null}::int, ${priority ?? null}::int, ${project ?? null}::text, ${tag ?? null}::text)`
}

const COST = sql`
  count(distinct period_id) as watches, sum(slots)::bigint as measurements,
  round(sum(share_micros * slots) / ${FORECAST_DAYS}::int)::bigint as "dayMicros",
  sum(share_micros * slots)::bigint as "monthMicros"`

/**
 * All slots of one interval begin at the same instants: its targets are added up, and its slots listed once.
 */
function daysOf(question: ForecastQuestion): Statement {
  return sql`
    with line as (${linesOf(question)}),
    cost as (
      select 0 as scope, 'UTC' as timezone, every, slot, sum(price_micros) as micros, count(*) as tasks
      from line where is_first group by every, slot
      union all
      select l.project_id, p.timezone, l.every, l.slot, sum(l.share_micros), count(*)
      from line l join project p on p.id = l.project_id
      where p.daily_usd is not null or p.monthly_usd is not null
      group by 1, 2, 3, 4
    ),
    instant as (
      select c.scope, c.timezone, coalesce(c.slot, s.slot) as at, sum(c.micros) as micros,
        sum(c.tasks) as tasks
      from cost c
      left join lateral slots_in(c.every, storerank_now(), ${END}) s (slot) on c.slot is null
      group by 1, 2, 3
    )
    select scope, to_char(at at time zone timezone, 'YYYY-MM-DD') as day, sum(micros)::bigint as micros,
      max(tasks)::bigint as "mostAtOnce"
    from instant where at is not null group by 1, 2 order by 1, 2`
}

/** A budget of a day or a month begins again; a balance does not. */
export type BudgetPeriod = 'day' | 'month' | 'balance'

export interface Budget {
  readonly budget: string
  readonly period: BudgetPeriod
  /** 0: all projects. */
  readonly scope: number
  readonly limitMicros: number
  /** What is spent and reserved in the running period. */
  readonly usedMicros: number
}

export interface BudgetEnd extends Budget {
  /** The first day whose measurements it does not reach; null when it reaches them all. */
  readonly endsOn: string | null
  /** What the dearest period costs; of a balance all days. */
  readonly dearestMicros: number
}

/** @param days in their order; the first one of a scope is the running one */
export function findBudgetEnd(budget: Budget, days: readonly ForecastDay[]): BudgetEnd {
  const { scope, period, limitMicros, usedMicros } = budget
  let endsOn: string | null = null
  let dearestMicros = 0
  let running = ''
  let micros = 0
  for (const [index, day] of days.filter((each) => each.scope === scope).entries()) {
    const current = period === 'day' ? day.day : period === 'month' ? day.day.slice(0, 7) : 'all'
    if (current !== running) micros = index === 0 ? usedMicros : 0
    running = current
    micros += day.micros
    dearestMicros = Math.max(dearestMicros, micros)
    if (micros > limitMicros) endsOn ??= day.day
  }
  return { ...budget, endsOn, dearestMicros }
}
