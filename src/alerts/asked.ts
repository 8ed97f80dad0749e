/** What the rules of a project ask for, by which the statements that evaluate them are put together. */
import type { Fragment } from 'postgres'
import type { Transaction } from '../db/database.ts'
import {
  type AlertProject,
  type Asked,
  COMPARING,
  type Compared,
  type MeantApp,
  meansApp,
  OF_DAY,
} from './scope.ts'

/** Of rules that ask only who is in a top that is no deeper: each app is looked for in it first. */
const SHALLOW_TOP = 30

export async function readAsked(tx: Transaction, project: AlertProject): Promise<Asked> {
  const rows = await tx<
    {
      kind: string
      comparedWith: string
      days: number | null
      isScoped: boolean
      top: number | null
    }[]
  >`
    select kind, compared_with as "comparedWith", ${daysOf(tx)} as days, bool_and(num_nonnulls(store, keyword, tag) > 0) as "isScoped",
      max(top) as top
    from alert_rule r where project = ${project.name} and enabled group by 1, 2 order by 1, 2`
  const comparing = rows.filter(({ kind, days }) => days !== null && COMPARING.includes(kind))
  const apps = comparing.length === 0 ? [] : await readMeantApps(tx, project)
  const compared = [...new Set(comparing.map(({ days }) => days ?? 0))].map((days): Compared => {
    const rules = comparing.filter((rule) => rule.days === days)
    const tops = rules.filter(({ kind }) => kind === 'new_app').map(({ top }) => top ?? 0)
    return {
      days,
      isScoped: rules.every(({ isScoped }) => isScoped),
      isOfDay: rules.some(({ kind }) => OF_DAY.includes(kind)),
      top: Math.max(0, ...tops, ...apps.map(({ reaches }) => reaches.get(days) ?? 0)),
    }
  })
  return {
    kinds: new Set(rows.map(({ kind }) => kind)),
    comparedWith: new Set(rows.map(({ comparedWith }) => comparedWith)),
    compared,
    apps,
  }
}

/** How many days before a rule `r` compares with; null where it compares with something else. */
export function daysOf(tx: Transaction): Fragment {
  return tx`case r.compared_with when '1 day' then 1 when '7 days' then 7 when '30 days' then 30 end` as Fragment
}

/** The apps whose ranks rules compare, in the order of their numbers. */
async function readMeantApps(tx: Transaction, project: AlertProject): Promise<MeantApp[]> {
  const rows = await tx<
    { app: number; isIos: boolean; days: number; reach: number | null; isSummed: boolean }[]
  >`
    select a.app, a.store = 'ios_store' as "isIos", ${daysOf(tx)} as days,
      case when bool_and(coalesce(e.reach <= ${SHALLOW_TOP}, false)) then max(e.reach) end as reach,
      bool_or(r.kind in ('visibility_moved', 'share_of_voice_moved')) as "isSummed"
    from alert_rule r
    join project_app a on a.project = r.project and a.ended_at is null and (r.store is null or r.store = a.store)
    cross join lateral (
      select case when r.kind in ('top_crossed', 'top_count_moved') or (r.kind = 'overtaken' and a.role = 'competitor') then r.top end as reach
    ) e
    where r.project = ${project.name} and r.enabled and r.kind = any(${COMPARING}) and r.kind <> 'new_app' and ${daysOf(tx)} is not null
      and case when r.kind = 'overtaken' then a.role = 'competitor' or r.app_id is null or r.app_id = a.app_id else ${meansApp(tx)} end
    group by 1, 2, 3 order by 1, 3`
  return [...Map.groupBy(rows, ({ app }) => app)].map(([app, ofApp]) => ({
    app,
    isIos: ofApp.some(({ isIos }) => isIos),
    reaches: new Map(ofApp.map(({ days, reach }) => [days, reach])),
    isSummed: ofApp.some(({ isSummed }) => isSummed),
  }))
}
