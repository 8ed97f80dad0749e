/** What of a report was measured, why not, and what it cost. */
import type { Transaction } from '../db/database.ts'
import type { ServiceFunction } from '../service/functions.ts'
import { type ByGap, byGap, type Gap } from '../text/gaps.js'
import { explainReason } from '../text/words.ts'
import type { RankedList } from './read-ranks.ts'
import { type Daily, type Day, isWithin, placeOf, range, type Scope } from './scope.ts'

/** Slots of all functions by what became of them. */
export interface Coverage {
  readonly measured: Daily<number>
  readonly gaps: ByGap<Daily<number>>
  /** The same gaps by reason, those of the last day first, then the most frequent. */
  readonly reasons: readonly GapReason[]
}

export interface GapReason {
  readonly day: Day
  readonly gap: Gap
  readonly reason: string | null
  readonly slots: number
  /** A few of the keywords, charts and apps that it is about. */
  readonly examples: readonly string[]
}

interface Bought {
  readonly tasks: number
  readonly spentMicros: number
}

export interface Money {
  /** Charged, duplicate and adjusted, less refunded. */
  readonly spentMicros: Daily<number>
  readonly refundedMicros: number
  readonly duplicateMicros: number
  /** Not charged yet, and counted against the budgets. */
  readonly reservedMicros: number
  readonly functions: readonly (Bought & { readonly function: ServiceFunction })[]
  /** What most was spent on: keywords and charts, the dearest first. */
  readonly dearest: readonly (Bought & Pick<RankedList, 'name' | 'store' | 'place'>)[]
  /** What would have been paid for keywords, charts and pages that other projects follow too. */
  readonly savedMicros: number
  /** What 30 days of the watchlist cost at another interval, at most; `every` null is as it is now. */
  readonly outlook: readonly { readonly every: string | null; readonly monthlyMicros: number }[]
  /** The project's own, on the last day and in its month; used includes what is reserved. */
  readonly budgets: readonly {
    readonly period: 'day' | 'month'
    readonly limitMicros: number
    readonly usedMicros: number
  }[]
}

const REASONS = 200
const EXAMPLES = 3
const DEAREST = 10
/** For which the page says what the watchlist would cost. */
const OTHER_INTERVALS = ['12 hours', '1 day', '7 days']

/** Slots of searches, charts, pages and reviews; with a tag, of those that have it. */
export async function readCoverage(tx: Transaction, scope: Scope): Promise<Coverage> {
  const rows = await tx<({ day: number; captured: number } & Record<Gap, number>)[]>`
    select day - ${scope.from}::date as day, sum(captured)::integer as captured,
      sum(budget)::integer as budget, sum(failed)::integer as failed, sum(missed)::integer as missed,
      sum(html_only)::integer as html_only, sum(pending)::integer as pending
    from coverage(${range(scope)}) group by 1`
  const byDay = new Map(rows.map((row) => [row.day, row]))
  const count = (kind: Gap | 'captured') => scope.days.map((_, day) => byDay.get(day)?.[kind] ?? 0)
  return { measured: count('captured'), gaps: byGap(count), reasons: await readReasons(tx, scope) }
}

async function readReasons(tx: Transaction, scope: Scope): Promise<GapReason[]> {
  const { project, from, to, tag, location, days } = scope
  const rows = await tx<(Omit<GapReason, 'day'> & { day: number })[]>`
    with named as (
      select s.day - ${from}::date as day, s.gap, s.reason,
        s.function in ('app_info', 'app_reviews') as "isPage", case s.function
          when 'app_info' then 'the page of ' || coalesce(a.title, s.subject)
          when 'app_reviews' then 'the reviews of ' || coalesce(a.title, s.subject)
          else s.subject end as name, count(*) as slots
      from owed_slots(${project}, ${from}::date, ${to}::date) s
      left join app_name a on a.store = s.store and a.app_id = s.subject
        and s.function in ('app_info', 'app_reviews')
      where s.gap is not null and is_of(s.tags, s.location, ${tag}, ${location})
      group by 1, 2, 3, 4, 5
    )
    select n.day, n.gap, n.reason, sum(n.slots)::integer as slots,
      (array_agg(n.name order by n."isPage", n.slots desc, n.name))[:${EXAMPLES}] as examples
    from named n
    group by 1, 2, 3
    order by n.day = ${days.length - 1} desc, slots desc, n.day desc, n.gap, n.reason
    limit ${REASONS}`
  return rows.map((row) => ({ ...row, day: days[row.day] ?? '', reason: explainReason(row.reason) }))
}

/** What was spent on what has the tag; what is reserved and the budgets are those of the whole project. */
export async function readMoney(tx: Transaction, scope: Scope): Promise<Money> {
  const { project, from, days, tag, location } = scope
  const spent = await tx<{ day: number; micros: number }[]>`
    select c.day - ${from}::date as day, sum(c.amount_micros)::bigint as micros
    from charge_line c
    where c.project = ${project} and is_of(c.tags, c.location, ${tag}, ${location})
      and ${isWithin('c.at', scope)}
    group by 1`
  const byDay = new Map(spent.map(({ day, micros }) => [day, micros]))
  const targets = await readTargets(tx, scope)
  const sum = (of: (target: SpentOnTarget) => number) => targets.reduce((total, each) => total + of(each), 0)
  return {
    spentMicros: days.map((_, day) => byDay.get(day) ?? 0),
    refundedMicros: sum(({ refundedMicros }) => refundedMicros),
    duplicateMicros: sum(({ duplicateMicros }) => duplicateMicros),
    functions: addUpFunctions(targets),
    dearest: targets
      .flatMap(({ name, store, place, tasks, spentMicros }) =>
        name === null ? [] : [{ name, store, place, tasks, spentMicros }],
      )
      .slice(0, DEAREST),
    ...(await readSavings(tx, scope)),
    ...(await readBudgets(tx, scope)),
  }
}

type SpentOnTarget = Omit<Money['dearest'][number], 'name'> & {
  /** Null: the page of an app, or its reviews. */
  readonly name: string | null
  readonly function: Money['functions'][number]['function']
  readonly refundedMicros: number
  readonly duplicateMicros: number
}

/** The dearest first. */
async function readTargets(tx: Transaction, scope: Scope): Promise<SpentOnTarget[]> {
  return tx<SpentOnTarget[]>`
    select coalesce(s.keyword, concat_ws(', ', s.collection, s.category)) as name, s.store, s.function,
      ${placeOf('s')} as place, s.tasks,
      (s.spent_usd * 1000000)::bigint as "spentMicros",
      (s.refunded_usd * 1000000)::bigint as "refundedMicros",
      (s.duplicate_usd * 1000000)::bigint as "duplicateMicros"
    from spend_by_target(${range(scope)}) s
    order by s.spent_usd desc, name, s.store, place`
}

function addUpFunctions(targets: readonly SpentOnTarget[]): Money['functions'] {
  return [...Map.groupBy(targets, (target) => target.function)]
    .map(([name, own]) => ({
      function: name,
      tasks: own.reduce((sum, { tasks }) => sum + tasks, 0),
      spentMicros: own.reduce((sum, { spentMicros }) => sum + spentMicros, 0),
    }))
    .toSorted((a, b) => b.spentMicros - a.spentMicros)
}

/** What sharing has saved, and what another interval would cost. */
async function readSavings(tx: Transaction, scope: Scope): Promise<Pick<Money, 'savedMicros' | 'outlook'>> {
  const { project, tag, location } = scope
  const [saved] = await tx<{ micros: number }[]>`
    select coalesce(sum(saved_usd) * 1000000, 0)::bigint as micros
    from sharing_savings(${range(scope)})`
  const outlook = await tx<Money['outlook'][number][]>`
    select e.every, (sum(case when e.every is null then w.monthly_usd_now else w.monthly_usd end)
      * 1000000)::bigint as "monthlyMicros"
    from unnest(${[null, ...OTHER_INTERVALS]}::text[]) with ordinality e (every, place)
    cross join lateral watch_cost_at(${project}, e.every::interval) w
    where is_of(w.tags, w.location, ${tag}, ${location})
    group by e.every, e.place order by e.place`
  return { savedMicros: saved?.micros ?? 0, outlook }
}

/** Budgets on the last day of the report, and in its month up to then; what is reserved counts in both. */
async function readBudgets(
  tx: Transaction,
  { project, to }: Scope,
): Promise<Pick<Money, 'reservedMicros' | 'budgets'>> {
  const [reserved] = await tx<{ micros: number }[]>`
    select coalesce(sum(reserved_usd) * 1000000, 0)::bigint as micros from spend_daily
    where project = ${project} and day <= ${to}::date`
  const budgets = await tx<Money['budgets'][number][]>`
    select b.period, b.limit_micros as "limitMicros", coalesce((
      select sum(s.spent_usd + s.reserved_usd) * 1000000 from spend_daily s
      where s.project = p.name and s.day between date_trunc(b.period, ${to}::date::timestamp)::date
        and ${to}::date
    ), 0)::bigint as "usedMicros"
    from project p
    cross join lateral (
      values ('day', (p.daily_usd * 1000000)::bigint), ('month', (p.monthly_usd * 1000000)::bigint)
    ) b (period, limit_micros)
    where p.name = ${project} and b.limit_micros is not null
    order by b.period`
  return { reservedMicros: reserved?.micros ?? 0, budgets }
}
