/** What the rules of a project ask for, by which the statements that evaluate them are put together. */
import type { Fragment } from 'postgres'
import type { Transaction } from '../db/database.ts'
import {
  type AlertProject,
  type Asked,
  COMPARING,
  type Compared,
  type ListScope,
  type MeantApp,
  meansApp,
  OF_DAY,
} from './scope.ts'

/** Of rules that ask only who is in a top that is no deeper: each app is looked for in it first. */
const SHALLOW_TOP = 30

interface RuleRow extends ListScope {
  readonly id: number
  readonly kind: string
  readonly comparedWith: string
  readonly days: number | null
  readonly top: number | null
}

export async function readAsked(tx: Transaction, project: AlertProject): Promise<Asked> {
  const rules = await tx<RuleRow[]>`
    select r.id, r.kind, r.compared_with as "comparedWith", ${daysOf(tx)} as days, r.store, r.keyword, r.tag, r.top
    from alert_rule r where r.project = ${project.name} and r.enabled order by r.id`
  const scopes = new Map<string, ListScope>()
  for (const { store, keyword, tag } of rules) {
    if (store !== null || keyword !== null || tag !== null)
      scopes.set(keyOf({ store, keyword, tag }), { store, keyword, tag })
  }
  const numbers = new Map([...scopes.keys()].map((key, n) => [key, n + 1]))
  const scopeOf = (rule: ListScope) => numbers.get(keyOf(rule)) ?? null
  const comparing = rules.filter(({ kind, days }) => days !== null && COMPARING.includes(kind))
  const apps = comparing.length === 0 ? [] : await readMeantApps(tx, project)
  const compared = [...Map.groupBy(comparing, ({ days }) => days ?? 0)].map(([days, ofDays]) =>
    compare(days, ofDays, apps, scopeOf),
  )
  return {
    rules: new Map(rules.map((rule) => [rule.id, scopeOf(rule)])),
    scopes: [...scopes.values()],
    kinds: new Set(rules.map(({ kind }) => kind)),
    comparedWith: new Set(rules.map(({ comparedWith }) => comparedWith)),
    compared,
    newAppRules: comparing
      .filter(({ kind }) => kind === 'new_app')
      .map((rule) => ({
        id: rule.id,
        days: rule.days ?? 0,
        scope: scopeOf(rule),
        top: rule.top ?? 0,
        isWholeTop: compared.some(({ days, top }) => days === rule.days && top === rule.top),
      })),
    countedTops: [...new Set(topsOf(rules, 'top_count_moved'))],
    apps,
  }
}

const keyOf = ({ store, keyword, tag }: ListScope) => JSON.stringify([store, keyword, tag])
const topsOf = (rules: readonly RuleRow[], of: string) =>
  rules.flatMap(({ kind, top }) => (kind === of && top !== null ? [top] : []))

function compare(
  days: number,
  rules: readonly RuleRow[],
  apps: readonly MeantApp[],
  scopeOf: (rule: RuleRow) => number | null,
): Compared {
  const scopes = rules.map(scopeOf)
  const topsOfNew = topsOf(rules, 'new_app')
  const top = Math.max(0, ...topsOfNew, ...apps.map(({ reaches }) => reaches.get(days) ?? 0))
  return {
    days,
    scopes: scopes.includes(null) ? null : [...new Set(scopes.filter((scope) => scope !== null))],
    isOfDay: rules.some(({ kind }) => OF_DAY.includes(kind)),
    top,
    isTopOfNew: topsOfNew.every((each) => each === top),
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
