/** Kinds that compare ranks, list by list: a gap is none; "not in the top" is beyond the depth at least. */

import { GAP_MEANINGS } from '../../text/gaps.js'
import { nameSome } from '../../text/names.ts'
import { countOf, endSentence, explainReason } from '../../text/words.ts'
import type { ToldEvent } from '../event.ts'
import {
  type AlertKind,
  DUE_TARGETS,
  LISTS,
  MEANS_APP,
  MEANS_LIST,
  OF_SLOT,
  PROJECT,
  RANKS,
  SLOT,
  STORE_AND_APP,
} from './kind.ts'

const BEST_WITHIN_DAYS = 90
const BANDS = ['threshold_11_to_30', 'threshold_beyond']

/** At least this one, where an app was not within depth. */
const RANK = 'coalesce(m.rank, m.depth + 1)'

/** The threshold of a rule `r` at the better of two ranks. */
const thresholdAt = (
  rank: string,
  other: string,
) => `case when least(${rank}, ${other}) <= 10 then r.threshold
        when least(${rank}, ${other}) <= 30 then coalesce(r.threshold_11_to_30, r.threshold)
        else coalesce(r.threshold_beyond, r.threshold_11_to_30, r.threshold) end`
const tellsClimb = (climb: string) =>
  `case r.direction when 'up' then ${climb} > 0 when 'down' then ${climb} < 0 else true end`

const rankMoved: AlertKind = {
  name: 'rank_moved',
  tells: 'an app that moved by so many places on a keyword or chart',
  more:
    '`threshold_11_to_30` and `threshold_beyond` for the other bands; `compared_with` also `best` (of ' +
    '`window_days`, default 90) and `base` (a rank of yours in `base`)',
  takes: [...STORE_AND_APP, ...LISTS, 'direction', ...BANDS, 'compared_with', 'base', 'window_days'],
  threshold: { counts: 'places, where the better of the two ranks is 1 to 10', from: 1, to: 1000 },
  source: RANKS,
  // Against the best rank of a window; or against a base, since it was last within reach of that.
  select: `
    select r.id as rule_id, format('%s:%s', m.target_id, m.app) as subject, m.slot,
      m.slot_before as compared_slot, m.target_id, m.app, m.rank_before::float8 as before,
      m.rank::float8 as after, '{}'::jsonb as detail
    from rule r
    join rank m on m.days = r.days and m.is_due and m.change <> 0 and ${MEANS_APP} and ${MEANS_LIST}
    where r.kind = 'rank_moved' and ${tellsClimb('m.change')}
      and abs(m.change) >= ${thresholdAt(RANK, 'coalesce(m.rank_before, m.depth_before + 1)')}
    union all
    select r.id, format('%s:%s', p.target_id, p.app), ${SLOT}, e.slot_before, p.target_id, p.app, e.before,
      p.rank::float8, jsonb_build_object('compared_with', r.compared_with)
    from rule r
    cross join lateral (
      select m.target_id, m.app, max(m.rank) filter (where m.slot = ${SLOT}) as rank,
        max(m.depth) filter (where m.slot = ${SLOT}) as depth,
        min(array[m.rank, -extract(epoch from m.slot)])
          filter (where m.slot < ${SLOT} and m.rank is not null) as best,
        max(m.slot) filter (where m.slot < ${SLOT} and abs(${RANK} - r.base)
          < ${thresholdAt(RANK, 'r.base')}) as near_slot
      from rank_history m
      where m.project = ${PROJECT} and m.target_id = any(${DUE_TARGETS}) and m.slot <= ${SLOT}
        and m.outcome in ('ranked', 'not_in_top') and (r.compared_with = 'base'
          or m.slot >= ${SLOT} - make_interval(hours => 24 * coalesce(r.window_days, ${BEST_WITHIN_DAYS})))
        and ${MEANS_APP} and ${MEANS_LIST}
      group by m.target_id, m.app
      having bool_or(m.slot = ${SLOT})
    ) p
    cross join lateral (
      select coalesce(p.rank, p.depth + 1) as after,
        case r.compared_with when 'base' then r.base else p.best[1] end as before,
        case r.compared_with when 'base' then coalesce(p.near_slot, '-infinity')
          else to_timestamp(-p.best[2]) end as slot_before
    ) e
    where r.kind = 'rank_moved' and r.compared_with in ('best', 'base')
      and (p.rank is not null or e.before <= p.depth) and ${tellsClimb('e.before - e.after')}
      and abs(e.after - e.before) >= ${thresholdAt('e.after', 'e.before')}`,
  sentence: describeMove,
}

/** Against the best rank or a rank of the rule, which is no measurement of the day that the event names. */
function describeMove(event: ToldEvent): string {
  const { app, before, after, depth, detail, comparedWith } = event
  const verb = isClimb(event) ? 'rose' : 'fell'
  const now = `${formatRank(after, depth)}${ofDepth(depth)}`
  if (detail.compared_with === 'base') return `${app} ${verb} to ${now} from its base of ${before}.`
  if (detail.compared_with === 'best' && !isClimb(event))
    return `${app} fell to ${now} from its best, ${before}${comparedWith}.`
  return `${app} ${describeRanks(event)}${comparedWith}.`
}

function describeRanks(event: ToldEvent): string {
  const { before, after, depth, depth_before: depthBefore } = event
  const verb = isClimb(event) ? 'rose' : 'fell'
  return `${verb} from ${formatRank(before, depthBefore)} to ${formatRank(after, depth)}${ofDepth(depth)}`
}

function isClimb({ before, after }: ToldEvent): boolean {
  return (after ?? Number.POSITIVE_INFINITY) < (before ?? Number.POSITIVE_INFINITY)
}

/** `12`; `> 100` when it was not among these. */
function formatRank(rank: unknown, depth: number | null): string {
  if (typeof rank === 'number') return String(rank)
  return depth === null ? 'not in the top' : `> ${depth}`
}

function ofDepth(depth: number | null): string {
  return depth === null ? '' : ` (of ${depth})`
}

const topCrossed: AlertKind = {
  name: 'top_crossed',
  tells: 'an app that came into the top N (`up`) or left it (`down`)',
  more: '`top` is N',
  takes: [...STORE_AND_APP, ...LISTS, 'direction', 'top', 'compared_with'],
  needs: ['top'],
  source: RANKS,
  // Where an app was not within depth, the depth says that it was not in the top.
  select: `
    select r.id as rule_id, format('%s:%s', m.target_id, m.app) as subject, m.slot,
      m.slot_before as compared_slot, m.target_id, m.app, m.rank_before as before, m.rank as after,
      jsonb_build_object('top', r.top) as detail
    from rule r
    join rank m on m.days = r.days and m.is_due and ${MEANS_APP} and ${MEANS_LIST}
    where r.kind = 'top_crossed' and ${tellsClimb('m.change')}
      and coalesce(m.rank <= r.top, false) <> coalesce(m.rank_before <= r.top, false)
      and (m.rank is not null or m.depth >= r.top)
      and (m.rank_before is not null or m.depth_before >= r.top)`,
  sentence: (event) => {
    const into = isClimb(event) ? 'into' : 'out of'
    return `${event.app} ${describeRanks(event)} ${into} the top ${event.detail.top}${event.comparedWith}.`
  },
}

const overtaken: AlertKind = {
  name: 'overtaken',
  tells: 'a competitor that stood behind an own app, and stands before it now',
  more: 'with `top`, only where it stands in the top N now',
  takes: ['store', 'app_id', ...LISTS, 'top', 'compared_with'],
  source: RANKS,
  select: `
    select r.id as rule_id, format('%s:%s:%s', m.target_id, m.app, c.app) as subject, m.slot,
      m.slot_before as compared_slot, m.target_id, m.app, c.app as rival, m.rank_before as before,
      m.rank as after, jsonb_build_object('rival_before', c.rank_before, 'rival_after', c.rank) as detail
    from rule r
    join rank m on m.days = r.days and m.is_due and m.role = 'own'
      and (r.app_id is null or r.app_id = m.app_id) and ${MEANS_LIST}
    join rank c on c.target_id = m.target_id and c.days = m.days and c.role = 'competitor'
    where r.kind = 'overtaken' and c.rank <= coalesce(r.top, c.rank) and c.rank < ${RANK}
      and m.rank_before < coalesce(c.rank_before, m.depth_before + 1)`,
  sentence: ({ app, rival, before, after, depth, depth_before: depthBefore, detail, comparedWith }) => {
    const was = (rank: unknown) => formatRank(rank, depthBefore)
    const is = (rank: unknown) => formatRank(rank, depth)
    const them = `${rival} (${is(detail.rival_after)}, before ${was(detail.rival_before)})`
    const [one, other] = [was(before), is(after)]
    const course = one === other ? `is ${one} as before` : `went from ${one} to ${other}`
    return `${them} is now ahead of ${app}, which ${course}${comparedWith}.`
  },
}

/** Why a measurement is missing: its own reason, else what its kind of gap means. */
function explainGap({ gap, reason }: ToldEvent['detail']): string {
  const text = explainReason(typeof reason === 'string' ? reason : null)
  return endSentence(text ?? GAP_MEANINGS[gap as keyof typeof GAP_MEANINGS] ?? '')
}

const notMeasured: AlertKind = {
  name: 'not_measured',
  tells: 'a keyword or chart without a measurement',
  more: 'the event has the reason of the gap',
  takes: ['store', ...LISTS],
  threshold: { counts: 'days', from: 1, to: 366 },
  source: OF_SLOT,
  // Since the last measurement, or since it began to be followed. Told once, until it is measured again.
  select: `
    select r.id as rule_id, m.target_id::text as subject, m.slot, since.slot as compared_slot, m.target_id,
      jsonb_build_object('gap', m.gap, 'reason', left(m.reason, 500),
        'days', floor(extract(epoch from m.slot - since.slot) / 86400)) as detail
    from (
      select h.slot, h.gap, h.reason, h.target_id, p.store, p.tags, p.first_slot - p.every as begins_at
      from ranking_row h
      cross join lateral (
        select * from list_period p
        where p.project = ${PROJECT} and p.target_id = h.target_id
          and is_shown(p.every, p.first_slot, p.last_slot, p.ended_at, h.slot, h.gap)
        offset 0
      ) p
      where h.target_id = any(${DUE_TARGETS}) and h.slot = ${SLOT} and h.gap is not null
    ) m
    join rule r on ${MEANS_LIST}
    cross join lateral (
      select coalesce((
        select c.slot from ranking_row c
        where c.target_id = m.target_id and c.slot < m.slot and c.gap is null order by c.slot desc limit 1
      ), m.begins_at) as slot
      offset 0
    ) since
    where r.kind = 'not_measured' and m.slot - since.slot >= r.threshold * interval '24 hours'`,
  sentence: ({ detail }) => {
    const days = `not measured for ${countOf(Number(detail.days), 'day')}`
    if (detail.lists === undefined) return `${days}. ${explainGap(detail)}`
    const some = nameSome(detail.examples, Number(detail.lists))
    const lists = countOf(Number(detail.lists), 'keyword or chart', 'keywords and charts')
    return `${lists} ${days}: ${some}. ${explainGap(detail)}`
  },
}

export const RANK_KINDS: readonly AlertKind[] = [rankMoved, topCrossed, overtaken, notMeasured]
