/** What of a report was measured, why not, and what it cost. */
import type { Fragment } from 'postgres'
import type { Transaction } from '../db/database.ts'
import { byGap, type Coverage, type Gap, type GapReason, type Money } from './model.ts'
import type { Scope } from './read.ts'
import { explainReason } from './words.ts'

const REASONS = 200
const EXAMPLES = 3

/** Slots of searches and charts, and without a tag those of pages and reviews too. */
export async function readCoverage(tx: Transaction, scope: Scope): Promise<Coverage> {
  const rows = await tx<{ day: number; gap: Gap | null; slots: number }[]>`
    select day, gap, count(*) as slots from (${slotsOf(tx, scope)}) s group by 1, 2`
  const count = (gap: Gap | null) => {
    const slots = new Map(rows.filter((row) => row.gap === gap).map((row) => [row.day, row.slots]))
    return scope.days.map((_, day) => slots.get(day) ?? 0)
  }
  return { measured: count(null), gaps: byGap(count), reasons: await readReasons(tx, scope) }
}

async function readReasons(tx: Transaction, scope: Scope): Promise<GapReason[]> {
  const rows = await tx<(Omit<GapReason, 'day'> & { day: number })[]>`
    with named as (
      select s.day, s.gap, s.reason, t.function in ('app_info', 'app_reviews') as "isPage", case t.function
          when 'app_info' then 'the page of ' || coalesce(a.title, t.subject)
          when 'app_reviews' then 'the reviews of ' || coalesce(a.title, t.subject)
          else t.subject end as name, count(*) as slots
      from (${slotsOf(tx, scope)}) s
      join target t on t.id = s.target_id
      left join app a on a.store = t.store and a.app_id = t.subject
      where s.gap is not null
      group by 1, 2, 3, 4, 5
    )
    select n.day, n.gap, n.reason, sum(n.slots)::integer as slots,
      (array_agg(n.name order by n."isPage", n.slots desc, n.name))[:${EXAMPLES}] as examples
    from named n
    group by 1, 2, 3
    order by n.day = ${scope.days.length - 1} desc, slots desc, n.day desc, n.gap, n.reason
    limit ${REASONS}`
  return rows.map((row) => ({ ...row, day: scope.days[row.day] ?? '', reason: explainReason(row.reason) }))
}

function slotsOf(tx: Transaction, { project, timezone, from, to, targets }: Scope): Fragment {
  return tx`
    select s.day - ${from}::date as day, s.target_id, s.gap, s.reason from owed_slot s
    where s.project = ${project} and s.slot >= ${from}::date::timestamp at time zone ${timezone}
      and s.slot < (${to}::date + 1)::timestamp at time zone ${timezone}
      ${targets === null ? tx`` : tx`and s.target_id = any(${[...targets]})`}` as Fragment
}

/** What was charged for the targets of the scope; what is reserved and the budgets are those of the whole project. */
export async function readMoney(tx: Transaction, scope: Scope): Promise<Money> {
  const { project, timezone, from, to, days, targets } = scope
  const within = tx`
    c.project_id = (select id from project where name = ${project})
      and c.at >= ${from}::date::timestamp at time zone ${timezone}
      and c.at < (${to}::date + 1)::timestamp at time zone ${timezone}
      ${targets === null ? tx`` : tx`and c.target_id = any(${[...targets]})`}`
  const spent = await tx<{ day: number; micros: number; refunded: number; duplicate: number }[]>`
    select (c.at at time zone ${timezone})::date - ${from}::date as day, sum(c.amount_micros)::bigint as micros,
      coalesce(-sum(c.amount_micros) filter (where c.kind = 'refund'), 0)::bigint as refunded,
      coalesce(sum(c.amount_micros) filter (where c.kind = 'duplicate'), 0)::bigint as duplicate
    from charge c where ${within} group by 1`
  const functions = await tx<Money['functions'][number][]>`
    select t.function, count(distinct c.service_id) filter (where c.kind = 'charge') as tasks,
      sum(c.amount_micros)::bigint as "spentMicros"
    from charge c join target t on t.id = c.target_id
    where ${within}
    group by 1 order by 3 desc, 1`
  const byDay = new Map(spent.map(({ day, micros }) => [day, micros]))
  return {
    spentMicros: days.map((_, day) => byDay.get(day) ?? 0),
    refundedMicros: spent.reduce((sum, { refunded }) => sum + refunded, 0),
    duplicateMicros: spent.reduce((sum, { duplicate }) => sum + duplicate, 0),
    functions,
    ...(await readBudgets(tx, scope)),
  }
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
      where s.project = p.name and s.day between date_trunc(b.period, ${to}::date::timestamp)::date and ${to}::date
    ), 0)::bigint as "usedMicros"
    from project p
    cross join lateral (
      values ('day', (p.daily_usd * 1000000)::bigint), ('month', (p.monthly_usd * 1000000)::bigint)
    ) b (period, limit_micros)
    where p.name = ${project} and b.limit_micros is not null
    order by b.period`
  return { reservedMicros: reserved?.micros ?? 0, budgets }
}
