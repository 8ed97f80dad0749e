/**
 * Rules are looked at in SQL. The measurements that no rule has seen are deleted from `alert_due` in the
 * transaction that writes what the rules find in them, so that a runner that is killed loses nothing and
 * repeats nothing; (rule, subject, slot) is unique.
 */
import type { Database, SqlRunner, Transaction } from '../db/database.ts'
import { withoutNestedLoops } from '../db/joins.ts'
import type { OverallBudget } from '../plan/admission.ts'
import { type AlertKind, DUE_TARGETS, PARAMETERS, PROJECT, type Source } from './kinds/kind.ts'
import { KINDS } from './kinds/kinds.ts'

export interface AlertProject {
  readonly id: number
  readonly name: string
  readonly timezone: string
  readonly enabled: boolean
}

/** The slot of what is due, as Postgres writes it. */
export interface DueScope {
  readonly project: AlertProject
  readonly slot: string
}

/** A collection that is not over is waited for so long, so that one message tells of all of it. */
const PATIENCE_MINUTES = 30

/** Projects that are told of anything: those with rules, and those with a channel of digests. */
export async function readAlertProjects({ sql }: Pick<Database, 'sql'>): Promise<AlertProject[]> {
  return sql<AlertProject[]>`
    select p.id, p.name, p.timezone, p.enabled from project p
    where p.digest_channel is not null or exists (select from alert_rule r where r.project = p.name)
    order by p.name`
}

/** The oldest slot that has something due; null when there is none, or its collection is not over. */
export async function readDueSlot({ sql }: { readonly sql: SqlRunner }, project: AlertProject) {
  const [row] = await sql<{ slot: string | null }[]>`
    select min(d.slot)::text as slot from alert_due d
    where d.project_id = ${project.id} and (
      not (select is_collecting(${project.name}))
      or (select min(w.noted_at) from alert_due w where w.project_id = ${project.id})
        < clock_timestamp() - make_interval(mins => ${PATIENCE_MINUTES}))`
  return row?.slot ?? null
}

/** Evaluates one slot of a project, and returns how many events are new. */
export async function evaluateSlot(tx: Transaction, { project, slot }: DueScope): Promise<number> {
  const [row] = await tx<{ targets: string | null }[]>`
    with looked as (
      delete from alert_due where project_id = ${project.id} and slot = ${slot}::timestamptz
      returning target_ids
    )
    select array_agg(distinct target_id)::text as targets from looked, unnest(target_ids) target_id`
  // As Postgres writes them: 100,000 numbers need not be read here.
  const targets = row?.targets ?? '{}'
  // The planner estimates a common table expression at one row, so that sorting seems to cost nothing.
  await tx`select set_config('work_mem', '64MB', true), set_config('enable_sort', 'off', true)`
  return evaluate(tx, 'slot', [project.name, slot, targets])
}

/** What goes by the clock, and not by a measurement. */
export async function evaluateService(tx: Transaction, project: AlertProject, budget: OverallBudget) {
  return evaluate(tx, 'clock', [project.name, budget.maxDayMicros, budget.maxMonthMicros])
}

type Values = readonly [project: string, ...others: (string | number | null)[]]

/** @returns how many events are new */
async function evaluate(tx: Transaction, by: Source['by'], values: Values): Promise<number> {
  const rows = await tx<{ kind: string }[]>`
    select distinct kind from alert_rule where project = ${values[0]} and enabled`
  const used = new Set(rows.map(({ kind }) => kind))
  const kinds = KINDS.filter(({ name, source }) => source.by === by && used.has(name))
  let events = 0
  for (const [source, together] of Map.groupBy(kinds, ({ source }) => source)) {
    if (source.shared)
      events += await withoutNestedLoops(tx, () => insertEvents(tx, source, together, values))
    else for (const kind of together) events += await insertEvents(tx, source, [kind], values)
  }
  return events
}

/**
 * An event that lies between the two ends of a comparison, in the same direction, has told it already: a
 * competitor that overtook an own app did so whichever way that moved since. In the order of slots: what
 * comes late is told of its own slot. The optimization fence has it looked up by its key.
 */
async function insertEvents(
  tx: Transaction,
  { by, shared }: Source,
  kinds: readonly AlertKind[],
  values: Values,
): Promise<number> {
  const isOneOf = (some: readonly AlertKind[]) => `r.kind = any('{${some.map(({ name }) => name)}}')`
  const ofDay = kinds.filter(({ isOfDay }) => isOfDay)
  const rows = kinds.map(({ select }) => `select to_jsonb(k) as row from (${select}) k`)
  const { count } = await tx.unsafe(
    `with parameter as (select ${PARAMETERS[by]}),
    rule as materialized (
      select r.*, ${isOneOf(ofDay)} as is_of_day,
        case r.compared_with when '1 day' then 1 when '7 days' then 7 when '30 days' then 30 end as days
      from alert_rule r where r.project = ${PROJECT} and r.enabled and ${isOneOf(kinds)}
    )${shared ? `,${shared(ofDay.length > 0 ? 'null::integer[]' : DUE_TARGETS)}` : ''},
    found as (
      select e.* from (${rows.join(' union all ')}) k
      cross join lateral jsonb_populate_record(null::alert_event, k.row) e
    )
    insert into alert_event (
      rule_id, subject, slot, compared_slot, kind, severity, target_id, app, rival, before, after, detail)
    select f.rule_id, f.subject, f.slot, f.compared_slot, r.kind,
      case when f.detail ? 'over' then 'info' else r.severity end, f.target_id, f.app, f.rival, f.before,
      f.after, coalesce(f.detail, '{}')
    from found f
    join rule r on r.id = f.rule_id
    where (
      select true from alert_event e
      where e.rule_id = f.rule_id and e.subject = f.subject and e.slot > f.compared_slot and e.slot < f.slot
        and (f.rival is not null or sign(coalesce(e.after, 1000000) - coalesce(e.before, 1000000))
          = sign(coalesce(f.after, 1000000) - coalesce(f.before, 1000000)))
      limit 1
    ) is null
    on conflict (rule_id, subject, slot) do nothing`,
    [...values],
  )
  return count
}
