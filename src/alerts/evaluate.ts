/**
 * Rules are looked at in SQL. The measurements that no rule has seen are deleted from `alert_due` in the statement that writes what the
 * rules find in them, so that a runner that is killed loses nothing and repeats nothing; (rule, subject, slot) is unique.
 */
import type { Fragment } from 'postgres'
import type { Database, Transaction } from '../db/database.ts'
import type { OverallBudget } from '../plan/admission.ts'
import { APP_KINDS, pages } from './apps.ts'
import { comparable, DAY_KINDS } from './days.ts'
import { pairs, RANK_KINDS } from './ranks.ts'
import type { AlertProject, DueScope, Kinds } from './scope.ts'
import { SERVICE_KINDS } from './service.ts'

/** A collection that is not over is waited for so long, so that one message tells of all of it. */
const PATIENCE_MINUTES = 30

/** Projects with rules. */
export async function readAlertProjects({ sql }: Pick<Database, 'sql'>): Promise<AlertProject[]> {
  return sql<AlertProject[]>`
    select p.id, p.name, p.timezone from project p
    where exists (select from alert_rule r where r.project = p.name) order by p.name`
}

/** The oldest slot of a project that has something due; null when there is none, or its collection is not over. */
export async function readDueSlot(
  { sql }: Pick<Database, 'sql'>,
  project: AlertProject,
): Promise<string | null> {
  const [row] = await sql<{ slot: string | null }[]>`
    select min(d.slot)::text as slot from alert_due d
    where d.project_id = ${project.id} and (
      not exists (
        select from task k join watch_period p on p.target_id = k.target_id
        where k.state in ('planned', 'posting', 'posted') and p.project = ${project.name} and p.ended_at is null
      )
      or (select min(w.noted_at) from alert_due w where w.project_id = ${project.id})
        < clock_timestamp() - make_interval(mins => ${PATIENCE_MINUTES}))`
  return row?.slot ?? null
}

/** Evaluates one slot of a project, and returns how many events are new. */
export async function evaluateSlot(tx: Transaction, scope: DueScope): Promise<number> {
  const kinds = await readKinds(tx, scope.project)
  const queries = Object.entries({ ...RANK_KINDS, ...DAY_KINDS, ...APP_KINDS }).flatMap(([kind, query]) =>
    kinds.has(kind) ? [query(tx, scope)] : [],
  )
  await tx`set local work_mem = '64MB'`
  const due = tx`
    due as materialized (
      delete from alert_due where project_id = ${scope.project.id} and slot = ${scope.slot}::timestamptz returning target_id
    )`
  if (queries.length === 0) {
    await tx`with ${due} select`
    return 0
  }
  const isRanked = has(kinds, { ...RANK_KINDS, ...DAY_KINDS })
  const parts = [
    due,
    ...(isRanked ? [pairs(tx, scope, kinds)] : []),
    ...(has(kinds, DAY_KINDS) ? [comparable(tx)] : []),
    ...(has(kinds, APP_KINDS) ? [pages(tx, scope)] : []),
  ] as Fragment[]
  return insertEvents(tx, scope.project, parts, queries)
}

/** What goes by the clock, and not by a measurement. */
export async function evaluateService(
  tx: Transaction,
  project: AlertProject,
  budget: OverallBudget,
): Promise<number> {
  const kinds = await readKinds(tx, project)
  const queries = Object.entries(SERVICE_KINDS).flatMap(([kind, query]) =>
    kinds.has(kind) ? [query(tx, project, budget)] : [],
  )
  return queries.length === 0 ? 0 : insertEvents(tx, project, [], queries)
}

async function readKinds(tx: Transaction, project: AlertProject): Promise<Kinds> {
  const rows = await tx<{ kind: string }[]>`
    select distinct kind from alert_rule where project = ${project.name} and enabled`
  return new Set(rows.map(({ kind }) => kind))
}

function has(kinds: Kinds, queries: Readonly<Record<string, unknown>>): boolean {
  return Object.keys(queries).some((kind) => kinds.has(kind))
}

/**
 * An event that lies between the two ends of a comparison, in the same direction, has told it already. In the order of slots: what comes
 * late is told of its own slot.
 */
async function insertEvents(
  tx: Transaction,
  project: AlertProject,
  parts: readonly Fragment[],
  queries: readonly Fragment[],
): Promise<number> {
  const rows = await tx`
    with rule as materialized (
      select r.*, case r.compared_with when '1 day' then 1 when '7 days' then 7 when '30 days' then 30 end as days
      from alert_rule r where r.project = ${project.name} and r.enabled
    )${parts.length === 0 ? tx`` : parts.map((part) => tx`, ${part}`)},
    found (rule_id, subject, slot, compared_slot, target_id, app, rival, before, after, detail) as (${queries.map((query, n) => (n === 0 ? tx`${query}` : tx` union all ${query}`))})
    insert into alert_event (rule_id, subject, slot, compared_slot, kind, severity, target_id, app, rival, before, after, detail)
    select f.rule_id, f.subject, f.slot, f.compared_slot, r.kind, r.severity, f.target_id, f.app, f.rival, f.before, f.after, f.detail
    from found f
    join rule r on r.id = f.rule_id
    where not exists (
      select from alert_event e
      where e.rule_id = f.rule_id and e.subject = f.subject and e.slot > f.compared_slot and e.slot < f.slot
        and sign(coalesce(e.after, 1000000) - coalesce(e.before, 1000000))
          = sign(coalesce(f.after, 1000000) - coalesce(f.before, 1000000))
    )
    on conflict (rule_id, subject, slot) do nothing
    returning id`
  return rows.length
}
