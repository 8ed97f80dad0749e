/** What has changed up to the last day: who moved, what that did to visibility, who overtook whom. */
import type { Transaction } from '../db/database.ts'
import { isRanked, type Point } from './points.js'
import { pointOf } from './read-ranks.ts'
import { addDays, type Day, locate, type Row, range, type Scope, type Span, TOP } from './scope.ts'

/** The last day beside an earlier one. */
export interface Comparison {
  readonly span: Span
  /** Own apps on all lists of the last day, those that moved furthest first: function `movers`. */
  readonly moves: readonly Move[]
  /** Those of `moves` that crossed, the best rank first: function `entered_left_top`. */
  readonly entered: readonly Move[]
  readonly left: readonly Move[]
  /** Like for like, over the keywords measured on both days: function `visibility_change`. */
  readonly changes: readonly StandingChange[]
}

/** `entered` and `left` are about the depth that was looked at. */
export type Movement = 'up' | 'down' | 'same' | 'entered' | 'left' | 'not_in_top'

export interface Move {
  /** Indexes in `Report.lists` and `Report.apps`. */
  readonly list: number
  readonly app: number
  readonly before: Point
  readonly after: Point
  /** Null where the two days cannot be compared. */
  readonly movement: Movement | null
  /** Places climbed, negative when it fell; at least so many where one day did not find it. */
  readonly change: number | null
  /** Whether it came into the first `TOP` places or left them, and who left or came instead. */
  readonly crossed: 'entered' | 'left' | null
  readonly instead: readonly string[]
}

export interface StandingChange {
  readonly app: number
  /** Keywords that both days have measured, and those that were due on both. */
  readonly compared: number
  readonly due: number
  /** Null where none of them weighs anything. */
  readonly visibility: Difference | null
  readonly share: Difference | null
  readonly top: Difference | null
}

/** What made a difference, its parts in points: they add up to it, with `rest`. */
export interface Difference {
  readonly before: number
  readonly after: number
  readonly change: number
  /** Only of own apps, the greatest first. */
  readonly parts: readonly { readonly list: number; readonly points: number }[]
}

/** An own app and a competitor of its store. */
export interface Duel {
  /** Indexes in `Report.apps`. */
  readonly own: number
  readonly rival: number
  /** Keywords and charts of the last week on which each was ahead when they were last measured. */
  readonly ahead: number
  readonly behind: number
  /** Where the one that is ahead now was behind at first, the latest first. */
  readonly won: readonly Overtaking[]
  readonly lost: readonly Overtaking[]
}

/** How many days back it is looked for who came past whom. */
export const OVERTAKING_DAYS = 30

/** The last time that one came past the other: function `overtakes`. */
export interface Overtaking {
  readonly list: number
  readonly day: Day
  /** Ranks on the day before it that was measured, and on the day; null: not in the top. */
  readonly own: readonly [number | null, number | null]
  readonly rival: readonly [number | null, number | null]
}

/** How many keywords are named beside a change. */
const PARTS = 5
/** Apps that are named in the place of one that left the top. */
const INSTEAD = 3
const WEEK_DAYS = 7

export async function readComparisons(
  tx: Transaction,
  scope: Scope,
  spans: readonly Span[],
): Promise<Comparison[]> {
  const comparisons: Comparison[] = []
  for (const span of new Set(spans)) {
    const moves = await readMoves(tx, scope, span)
    const bestOf = ({ before, after }: Move) => Math.min(...[before, after].filter(isRanked))
    const { entered = [], left = [] } = Object.groupBy(
      moves.toSorted((a, b) => bestOf(a) - bestOf(b)),
      ({ crossed }) => crossed ?? 'neither',
    )
    comparisons.push({ span, moves, entered, left, changes: await readChangesOf(tx, scope, span) })
  }
  return comparisons
}

async function readMoves(tx: Transaction, scope: Scope, span: Span): Promise<Move[]> {
  const days = range(scope, addDays(scope.to, -span))
  const rows = await tx<Row<Move>[]>`
    with crossing as materialized (
      select * from entered_left_top(${days}, in_top => ${TOP}) where role = 'own'
    )
    select m.target_id as "targetId", m.app as id, m.movement, m.change,
      ${pointOf('m.rank_before', 'm.outcome_before', 'm.depth_before')} as before,
      ${pointOf('m.rank_after', 'm.outcome_after', 'm.depth_after')} as after, c.movement as crossed,
      coalesce(c.instead[:${INSTEAD}], '{}') as instead
    from movers(${days}) m
    left join crossing c on c.target_id = m.target_id and c.app = m.app
    where m.role = 'own'
    order by abs(m.change) desc nulls last, least(m.rank_before, m.rank_after), m.target_id, m.app`
  return locate(scope, rows)
}

type Part = Difference['parts'][number] & { readonly app: number; readonly share: number }

async function readChangesOf(tx: Transaction, scope: Scope, span: Span): Promise<StandingChange[]> {
  const days = range(scope, addDays(scope.to, -span))
  const apps = [...scope.appOf.keys()]
  const rows = await tx<Row<StandingChange>[]>`
    select c.app as id, c.compared, c.due, case when c.change is not null then jsonb_build_object(
        'before', c.visibility_before, 'after', c.visibility_after) end as visibility,
      case when c.share_change is not null then jsonb_build_object(
        'before', c.share_before, 'after', c.share_after) end as share,
      case when c.top_before is not null then jsonb_build_object(
        'before', c.top_before, 'after', c.top_after) end as top
    from visibility_change(${days}, in_top => ${TOP}) c
    where c.list = 'keyword' and c.app = any(${apps})`
  const parts = await tx<Row<Part>[]>`
    select p.target_id as "targetId", p.app as id, p.points::float8, p.share_points::float8 as share
    from (
      select p.*, row_number() over (partition by p.app order by abs(p.points) desc, p.target_id) as place,
        row_number() over (partition by p.app order by abs(p.share_points) desc, p.target_id) as share_place
      from visibility_movers(${days}) p
      where p.list = 'keyword' and p.role = 'own' and p.app = any(${apps})
    ) p
    where least(p.place, p.share_place) <= ${PARTS}`
  const located = locate<Part>(scope, parts)
  return locate<StandingChange>(scope, rows)
    .map((change) => {
      const own = located.filter(({ app }) => app === change.app)
      const shares = own.map((part) => ({ ...part, points: part.share }))
      return {
        ...change,
        visibility: differ(change.visibility, own),
        share: differ(change.share, shares),
        top: differ(change.top, []),
      }
    })
    .toSorted((a, b) => a.app - b.app)
}

/** With its parts: what rose, then what fell, each with the greatest first. */
function differ(ends: Difference | null, parts: Difference['parts']): Difference | null {
  if (ends === null) return null
  const told = parts
    .filter(({ points }) => points !== 0)
    .toSorted((a, b) => Math.abs(b.points) - Math.abs(a.points) || a.list - b.list)
    .slice(0, PARTS)
    .toSorted((a, b) => Number(a.points < 0) - Number(b.points < 0))
    .map(({ list, points }) => ({ list, points }))
  return { ...ends, change: ends.after - ends.before, parts: told }
}

/** Each own app against each competitor of its store. Overtaken an even number of times, all is as it was. */
export async function readDuels(tx: Transaction, scope: Scope): Promise<Duel[]> {
  const { from, to, appOf } = scope
  const since = addDays(to, -OVERTAKING_DAYS)
  const standing = await tx<{ ownId: number; rivalId: number; ahead: number; behind: number }[]>`
    select h.own_app as "ownId", h.competitor_app as "rivalId",
      count(*) filter (where h.leader = 'own')::integer as ahead,
      count(*) filter (where h.leader = 'competitor')::integer as behind
    from head_to_head(${range(scope, addDays(to, 1 - WEEK_DAYS))}) h
    group by 1, 2 having count(h.leader) > 0`
  const turns = await tx<(Row<Overtaking> & { ownId: number; rivalId: number; by: 'own' | 'competitor' })[]>`
    select o.target_id as "targetId", o.own_app as "ownId", o.competitor_app as "rivalId",
      o.overtaken_by as by,
      to_char(o.day, 'YYYY-MM-DD') as day, jsonb_build_array(o.own_rank_before, o.own_rank) as own,
      jsonb_build_array(o.competitor_rank_before, o.competitor_rank) as rival
    from (
      select distinct on (o.target_id, o.own_app, o.competitor_app) o.*,
        count(*) over (partition by o.target_id, o.own_app, o.competitor_app) as turns
      from overtakes(${range(scope, from > since ? from : since)}) o
      order by o.target_id, o.own_app, o.competitor_app, o.day desc
    ) o
    where o.turns % 2 = 1
    order by o.day desc, o.target_id`
  return standing
    .flatMap(({ ownId, rivalId, ahead, behind }) => {
      const [own, rival] = [appOf.get(ownId), appOf.get(rivalId)]
      if (own === undefined || rival === undefined) return []
      const ofPair = turns.filter((turn) => turn.ownId === ownId && turn.rivalId === rivalId)
      const of = (side: 'own' | 'competitor') =>
        locate<Overtaking>(
          scope,
          ofPair.filter(({ by }) => by === side).map(({ by: _, ownId: __, rivalId: ___, ...turn }) => turn),
        )
      return [{ own, rival, ahead, behind, won: of('own'), lost: of('competitor') }]
    })
    .toSorted((a, b) => a.own - b.own || a.rival - b.rival)
}
