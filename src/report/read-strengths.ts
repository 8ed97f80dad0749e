/** How hard the lists of a report are, and who advertises on them. */
import type { Transaction } from '../db/database.ts'
import type { Ranks } from './read-ranks.ts'
import { type Scope, within } from './scope.ts'
import type { Advertiser, Strength } from './strength.ts'

const WEEK_DAYS = 7
const ADVERTISED_DAYS = 30
const ADVERTISERS = 20

/** In the order of the lists. */
export async function readStrengths(
  tx: Transaction,
  scope: Scope,
  ranks: Ranks,
): Promise<(Strength | null)[]> {
  const { project, to } = scope
  const rows = await tx<(Strength & { targetId: number })[]>`
    select o.target_id as "targetId", o.difficulty::float8 as difficulty,
      o.opportunity::float8 as opportunity, o.weak
    from opportunity(${project}, ${to}::date - ${WEEK_DAYS}::integer, ${to}::date, ${within(scope)}) o`
  const strengths: (Strength | null)[] = ranks.lists.map(() => null)
  for (const { targetId, ...strength } of rows) {
    const list = ranks.listOf.get(targetId)
    if (list !== undefined) strengths[list] = strength
  }
  return strengths
}

/** Who advertises on each list on the last day, in the order of the lists. */
export async function readPaid(tx: Transaction, scope: Scope, ranks: Ranks): Promise<string[][]> {
  const { project, to } = scope
  const rows = await tx<{ targetId: number; name: string }[]>`
    select a.target_id as "targetId", coalesce(a.title, a.app_id) as name
    from advertisers(${project}, ${to}::date, ${to}::date, ${within(scope)}) a
    order by a.target_id, a.place, a.app`
  const paid: string[][] = ranks.lists.map(() => [])
  for (const { targetId, name } of rows) paid[ranks.listOf.get(targetId) ?? -1]?.push(name)
  return paid
}

/** Those on own brands first, then by the number of keywords. */
export async function readAdvertisers(tx: Transaction, scope: Scope): Promise<Advertiser[]> {
  const { project, to } = scope
  return tx<Advertiser[]>`
    select a.store, coalesce(a.title, a.app_id) as name, a.role is not null as "isWatched",
      count(distinct a.target_id)::integer as keywords, count(distinct a.day)::integer as days,
      coalesce(array_agg(distinct a.keyword) filter (where a.is_own_brand), '{}') as brands,
      (array_agg(distinct a.keyword order by a.keyword))[:3] as examples
    from advertisers(${project}, ${to}::date - ${ADVERTISED_DAYS - 1}::integer, ${to}::date,
      ${within(scope)}) a
    where a.list = 'keyword' and a.role is distinct from 'own'
    group by a.store, a.app, 2, 3
    order by count(*) filter (where a.is_own_brand) desc, 4 desc, 5 desc, name limit ${ADVERTISERS}`
}
