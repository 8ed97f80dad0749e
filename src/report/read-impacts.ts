/** What changed with the latest releases, changes of a title and notes of a report. */
import type { Transaction } from '../db/database.ts'
import { type Impact, MOST_IMPACTS } from './model-store.ts'
import { type Scope, within } from './scope.ts'

const WEEK_DAYS = 7

/** Those of an app before notes about none, the latest. Of a week that is not over, as many days. */
export async function readImpacts(tx: Transaction, scope: Scope): Promise<Impact[]> {
  const { project, from, to, appOf } = scope
  const rows = await tx<(Omit<Impact, 'app'> & { id: number })[]>`
    with event as (
      select e.day, e.app, string_agg(distinct e.text, '; ' order by e.text) as text
      from (
        select p.day, p.app, case p.kind when 'release' then 'version ' else '' end || p.text as text
        from project_events(${project}, ${from}::date, ${to}::date) p
        where coalesce(p.role, 'own') = 'own' and p.store is not null or p.kind = 'annotation'
        union all
        select c.day, c.app, c.field || ': ' || c.new_value
        from app_changes(${project}, ${from}::date, ${to}::date) c
        where c.role = 'own' and c.field in ('title', 'subtitle')
      ) e
      group by e.day, e.app order by e.app is null, e.day desc, e.app limit ${MOST_IMPACTS}
    )
    select to_char(e.day, 'YYYY-MM-DD') as day, i.app as id, e.text as event, i.lists,
      coalesce(i.words, '{}') as words, i.compared, i.rank_before::float8 as before,
      i.rank_after::float8 as after, i.change::float8 as change,
      i.competitors_change::float8 as competitors, i.moved::float8 as moved,
      i.everybody_moved::float8 as everybody
    from event e
    left join project_app a on a.project = ${project} and a.app = e.app
    cross join lateral impact(${project}, e.day, a.app_id, least(${WEEK_DAYS}, ${to}::date - e.day + 1),
      ${within(scope)}) i
    order by e.day desc, i.app, i.lists`
  return rows.flatMap(({ id, ...impact }) => {
    const app = appOf.get(id)
    return app === undefined ? [] : [{ ...impact, app }]
  })
}
