/**
 * What has changed up to the last day of a report: who moved, what that did to visibility, and who overtook
 * whom.
 */

import type { Transaction } from '../db/database.ts'
import { sql } from '../db/sql.ts'
import {
  type Comparison,
  type Day,
  type Difference,
  type Duel,
  type Move,
  OVERTAKING_DAYS,
  type Overtaking,
  type Span,
  type StandingChange,
  TOP,
} from './model.ts'
import { isRanked } from './points.js'
import { pointOf, type Ranks } from './read-ranks.ts'
import { type Scope, within } from './scope.ts'

/** How many keywords are named beside a change. */
const PARTS = 5
/** Apps that are named in the place of one that left the top. */
const INSTEAD = 3
const WEEK_DAYS = 7

export async function readComparisons(
  tx: Transaction,
  scope: Scope,
  ranks: Ranks,
  spans: readonly Span[],
): Promise<Comparison[]> {
  const comparisons: Comparison[] = []
  for (const span of new Set(spans)) {
    const moves = await readMoves(tx, scope, ranks, span)
    const crossed = moves.toSorted((a, b) => bestOf(a) - bestOf(b))
    comparisons.push({
      span,
      moves,
      entered: crossed.filter((move) => move.crossed === 'entered'),
      left: crossed.filter((move) => move.crossed === 'left'),
      changes: await readChangesOf(tx, scope, ranks, span),
    })
  }
  return comparisons
}

const bestOf = ({ before, after }: Move) => Math.min(...[before, after].filter(isRanked))

type Row<Known> = Omit<Known, 'list' | 'app'> & { readonly targetId: number; readonly id: number }

async function readMoves(tx: Transaction, scope: Scope, { listOf }: Ranks, span: Span): Promise<Move[]> {
  const { project, to, appOf } = scope
  const rows = await tx<Row<Move>[]>`
    with crossing as materialized (
      select * from entered_left_top(${project}, ${to}::date - ${span}::integer, ${to}::date, ${TOP},
        ${within(scope)}) where role = 'own'
    )
    select m.target_id as "targetId", m.app as id, m.movement, m.change,
      ${pointOf('m.rank_before', 'm.outcome_before', 'm.depth_before')} as before,
      ${pointOf('m.rank_after', 'm.outcome_after', 'm.depth_after')} as after, c.movement as crossed,
      coalesce(c.instead[:${INSTEAD}], '{}') as instead
    from movers(${project}, ${to}::date - ${span}::integer, ${to}::date, ${within(scope)}) m
    left join crossing c on c.target_id = m.target_id and c.app = m.app
    where m.role = 'own'
    order by abs(m.change) desc nulls last, least(m.rank_before, m.rank_after), m.target_id, m.app`
  return rows.flatMap(({ targetId, id, ...move }) => {
    const [list, app] = [listOf.get(targetId), appOf.get(id)]
    return list === undefined || app === undefined ? [] : [{ list, app, ...move }]
  })
}

interface ChangeRow extends Pick<StandingChange, 'compared' | 'due'> {
  readonly id: number
  readonly visibility: readonly [number, number] | null
  readonly share: readonly [number, number] | null
  readonly top: readonly [number, number] | null
}

interface PartRow {
  readonly targetId: number
  readonly id: number
  readonly points: number
  readonly share: number
}

async function readChangesOf(
  tx: Transaction,
  scope: Scope,
  { listOf }: Ranks,
  span: Span,
): Promise<StandingChange[]> {
  const { project, to, appOf } = scope
  const of = sql`${project}, ${to}::date - ${span}::integer, ${to}::date, ${within(scope)}`
  const rows = await tx<ChangeRow[]>`
    select c.app as id, c.compared, c.due,
      case when c.change
        is not null then array[c.visibility_before, c.visibility_after]::float8[] end as visibility,
      case when c.share_change is not null then array[c.share_before, c.share_after]::float8[] end as share,
      case when c.top_before is not null then array[c.top_before, c.top_after]::float8[] end as top
    from visibility_change(${of}, in_top => ${TOP}) c
    where c.list = 'keyword' and c.app = any(${[...appOf.keys()]})`
  const parts = await tx<PartRow[]>`
    select p.target_id as "targetId", p.app as id, p.points::float8, p.share_points::float8 as share
    from (
      select p.*, row_number() over (partition by p.app order by abs(p.points) desc, p.target_id) as place,
        row_number() over (partition by p.app order by abs(p.share_points) desc, p.target_id) as share_place
      from visibility_movers(${of}) p
      where p.list = 'keyword' and p.role = 'own' and p.app = any(${[...appOf.keys()]})
    ) p
    where least(p.place, p.share_place) <= ${PARTS}`
  return rows
    .map(({ id, compared, due, visibility, share, top }) => {
      const own = parts.filter((part) => part.id === id)
      const of = (kind: 'points' | 'share') => listParts(own, kind, listOf)
      return {
        app: appOf.get(id) ?? 0,
        compared,
        due,
        visibility: differ(visibility, of('points')),
        share: differ(share, of('share')),
        top: differ(top, []),
      }
    })
    .toSorted((a, b) => a.app - b.app)
}

/** What rose, then what fell, each with the greatest first. */
function listParts(
  rows: readonly PartRow[],
  kind: 'points' | 'share',
  listOf: Ranks['listOf'],
): Difference['parts'] {
  return rows
    .flatMap((row) => {
      const list = listOf.get(row.targetId)
      return list === undefined || row[kind] === 0 ? [] : [{ list, points: row[kind] }]
    })
    .toSorted((a, b) => Math.abs(b.points) - Math.abs(a.points) || a.list - b.list)
    .slice(0, PARTS)
    .toSorted((a, b) => Number(a.points < 0) - Number(b.points < 0))
}

function differ(ends: readonly [number, number] | null, parts: Difference['parts']): Difference | null {
  if (ends === null) return null
  const [before, after] = ends
  return { before, after, change: after - before, parts }
}

interface OvertakingRow extends Pick<Overtaking, 'own' | 'rival'> {
  readonly targetId: number
  readonly ownId: number
  readonly rivalId: number
  readonly by: 'own' | 'competitor'
  readonly day: Day
}

/**
 * Each own app against each competitor of its store, and who came past whom in the last `OVERTAKING_DAYS`.
 * Where that is an even number of times, all is as it was.
 */
export async function readDuels(tx: Transaction, scope: Scope, { listOf }: Ranks): Promise<Duel[]> {
  const { project, from, to, appOf } = scope
  const standing = await tx<{ ownId: number; rivalId: number; ahead: number; behind: number }[]>`
    select h.own_app as "ownId", h.competitor_app as "rivalId",
      count(*) filter (where h.leader = 'own')::integer as ahead,
      count(*) filter (where h.leader = 'competitor')::integer as behind
    from head_to_head(${project}, ${to}::date - ${WEEK_DAYS - 1}::integer, ${to}::date, ${within(scope)}) h
    group by 1, 2 having count(h.leader) > 0`
  const turns = await tx<OvertakingRow[]>`
    select o.target_id as "targetId", o.own_app as "ownId", o.competitor_app as "rivalId",
      o.overtaken_by as by,
      to_char(o.day, 'YYYY-MM-DD') as day, jsonb_build_array(o.own_rank_before, o.own_rank) as own,
      jsonb_build_array(o.competitor_rank_before, o.competitor_rank) as rival
    from (
      select distinct on (o.target_id, o.own_app, o.competitor_app) o.*,
        count(*) over (partition by o.target_id, o.own_app, o.competitor_app) as turns
      from overtakes(${project}, greatest(${from}::date, ${to}::date - ${OVERTAKING_DAYS}::integer),
        ${to}::date, ${within(scope)}) o
      order by o.target_id, o.own_app, o.competitor_app, o.day desc
    ) o
    where o.turns % 2 = 1
    order by o.day desc, o.target_id`
  return standing
    .flatMap(({ ownId, rivalId, ahead, behind }) => {
      const [own, rival] = [appOf.get(ownId), appOf.get(rivalId)]
      if (own === undefined || rival === undefined) return []
      const of = (by: 'own' | 'competitor') =>
        turns.flatMap((turn): Overtaking[] => {
          const list = listOf.get(turn.targetId)
          const isIt = turn.ownId === ownId && turn.rivalId === rivalId && turn.by === by
          return isIt && list !== undefined ? [{ list, day: turn.day, own: turn.own, rival: turn.rival }] : []
        })
      return [{ own, rival, ahead, behind, won: of('own'), lost: of('competitor') }]
    })
    .toSorted((a, b) => a.own - b.own || a.rival - b.rival)
}
