/**
 * Rules are looked at in SQL. The measurements that no rule has seen are deleted from `alert_due` in the transaction that writes what the
 * rules find in them, so that a runner that is killed loses nothing and repeats nothing; (rule, subject, slot) is unique.
 */
import type { Fragment } from 'postgres'
import type { Database, SqlRunner, Transaction } from '../db/database.ts'
import { withoutNestedLoops } from '../db/joins.ts'
import type { OverallBudget } from '../plan/admission.ts'
import { APP_KINDS, pages } from './apps.ts'
import { daysOf, readAsked } from './asked.ts'
import { comparable, DAY_KINDS } from './days.ts'
import { pairs } from './pairs.ts'
import { RANK_KINDS } from './ranks.ts'
import { type AlertProject, type Asked, type DueScope, joinAll } from './scope.ts'
import { SERVICE_KINDS } from './service.ts'

/** A collection that is not over is waited for so long, so that one message tells of all of it. */
const PATIENCE_MINUTES = 30

/** Projects with rules. */
export async function readAlertProjects({ sql }: Pick<Database, 'sql'>): Promise<AlertProject[]> {
  return sql<AlertProject[]>`
    select p.id, p.name, p.timezone, p.enabled from project p
    where exists (select from alert_rule r where r.project = p.name) order by p.name`
}

/** The oldest slot of a project that has something due; null when there is none, or its collection is not over. */
export async function readDueSlot(
  { sql }: { readonly sql: SqlRunner },
  project: AlertProject,
): Promise<string | null> {
  const [row] = await sql<{ slot: string | null }[]>`
    select min(d.slot)::text as slot from alert_due d
    where d.project_id = ${project.id} and (
      not (select is_collecting(${project.name}))
      or (select min(w.noted_at) from alert_due w where w.project_id = ${project.id})
        < clock_timestamp() - make_interval(mins => ${PATIENCE_MINUTES}))`
  return row?.slot ?? null
}

/** Evaluates one slot of a project, and returns how many events are new. */
export async function evaluateSlot(tx: Transaction, scope: DueScope): Promise<number> {
  const { project, slot } = scope
  const [row] = await tx<{ targetIds: string | null }[]>`
    with looked as (
      delete from alert_due where project_id = ${project.id} and slot = ${slot}::timestamptz returning target_ids
    )
    select array_agg(target_id)::text as "targetIds" from looked, unnest(target_ids) target_id`
  const asked = await readAsked(tx, project)
  // As Postgres writes them: 100,000 numbers need not be read here. One that was noted twice is in it twice.
  const due =
    tx`due as materialized (select unnest(${row?.targetIds ?? '{}'}::text::integer[]) as target_id)` as Fragment
  const choose = (queries: typeof RANK_KINDS) =>
    Object.entries(queries).flatMap(([kind, query]) =>
      asked.kinds.has(kind) ? [query(tx, scope, asked)] : [],
    )
  const [ofApps, ofDay] = [choose(APP_KINDS), choose(DAY_KINDS)]
  const ofLists = [...choose(RANK_KINDS), ...ofDay]
  let events = 0
  if (ofApps.length > 0) events += await insertEvents(tx, asked, [due, pages(tx, scope)], ofApps)
  if (ofLists.length > 0) {
    // The planner estimates a common table expression at one row, so that sorting seems to cost nothing.
    await tx`select set_config('work_mem', '64MB', true), set_config('enable_sort', 'off', true)`
    const parts = [due, pairs(tx, scope, asked), ...(ofDay.length > 0 ? [comparable(tx, asked)] : [])]
    events += await withoutNestedLoops(tx, () => insertEvents(tx, asked, parts, ofLists))
  }
  return events
}

/** What goes by the clock, and not by a measurement. */
export async function evaluateService(
  tx: Transaction,
  project: AlertProject,
  budget: OverallBudget,
): Promise<number> {
  const asked = await readAsked(tx, project)
  const queries = Object.entries(SERVICE_KINDS).flatMap(([kind, query]) =>
    asked.kinds.has(kind) ? [query(tx, project, budget)] : [],
  )
  return queries.length === 0 ? 0 : insertEvents(tx, asked, [], queries)
}

/**
 * An event that lies between the two ends of a comparison, in the same direction, has told it already: a competitor that overtook an own app
 * did so whichever way that moved since. In the order of slots: what comes late is told of its own slot. `offset 0` has it looked up by its key: else the planner reads all events that there ever were.
 */
async function insertEvents(
  tx: Transaction,
  { rules }: Asked,
  parts: readonly Fragment[],
  queries: readonly Fragment[],
): Promise<number> {
  const rows = await tx`
    with rule as materialized (
      select r.*, ${daysOf(tx)} as days, n.scope
      from unnest(${[...rules.keys()]}::bigint[], ${[...rules.values()]}::integer[]) n (id, scope)
      join alert_rule r on r.id = n.id and r.enabled
    )${parts.length === 0 ? tx`` : parts.map((part) => tx`, ${part}`)},
    found (rule_id, subject, slot, compared_slot, target_id, app, rival, before, after, detail) as (${joinAll(tx, queries)})
    insert into alert_event (rule_id, subject, slot, compared_slot, kind, severity, target_id, app, rival, before, after, detail)
    select f.rule_id, f.subject, f.slot, f.compared_slot, r.kind, case when f.detail ? 'over' then 'info' else r.severity end, f.target_id, f.app, f.rival, f.before, f.after, f.detail
    from found f
    join rule r on r.id = f.rule_id
    where not exists (
      select from alert_event e
      where e.rule_id = f.rule_id and e.subject = f.subject and e.slot > f.compared_slot and e.slot < f.slot
        and (r.kind = 'overtaken' or sign(coalesce(e.after, 1000000) - coalesce(e.before, 1000000))
          = sign(coalesce(f.after, 1000000) - coalesce(f.before, 1000000)))
      offset 0
    )
    on conflict (rule_id, subject, slot) do nothing
    returning id`
  return rows.length
}
