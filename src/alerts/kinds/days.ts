/** Kinds that sum up a day of the project, where at least four fifths of it can be compared. */

import type { Store } from '../../service/functions.ts'
import { nameSome } from '../../text/names.ts'
import { countOf, STORE_NAMES } from '../../text/words.ts'
import type { ToldEvent } from '../event.ts'
import {
  type AlertKind,
  ANY_AMOUNT,
  LISTS,
  MEANS_LIST,
  OF_SLOT,
  PROJECT,
  RANKS,
  SLOT,
  STORE_AND_APP,
} from './kind.ts'

const ENOUGH = 0.8
const OF_APPS = [...STORE_AND_APP, ...LISTS, 'direction', 'compared_with']
/** Keywords that an event names. */
const EXAMPLES = 3

/** When the day of the slot began in a project `p`, or so many days before it. */
const dayBegins = (daysBefore: string) =>
  `(date_trunc('day', ${SLOT} at time zone p.timezone) - ${daysBefore} * interval '1 day')
        at time zone p.timezone`

/** What an app has, `a`, of what there is, `l`, before and after. */
interface Measure {
  readonly before: string
  readonly after: string
  /** How far it moved, as the threshold counts, of `v.before` and `v.after`. */
  readonly size: string
}

function selectMoved(kind: string, { before, after, size }: Measure): string {
  return `
    select r.id as rule_id,
      format('%s:%s', case l.list when 'chart' then 'app_list' else 'app_searches' end, a.app) as subject,
      ${dayBegins('0')} as slot, ${dayBegins('r.days')} as compared_slot, a.app, v.before, v.after,
      jsonb_build_object('list', l.list, 'tag', r.tag, 'keyword', r.keyword, 'top', r.top) as detail
    from rule r
    join project p on p.name = ${PROJECT}
    join standing l on l.rule_id = r.id and l.app is null
    join standing a on a.rule_id = r.id and a.store = l.store and a.list = l.list and a.app is not null
    cross join lateral (
      select round((${before})::numeric, 4) as before, round((${after})::numeric, 4) as after
    ) v
    where r.kind = '${kind}' and l.compared >= ${ENOUGH} * l.due and v.after <> v.before
      and case r.direction when 'up' then v.after > v.before when 'down' then v.after < v.before else true end
      and ${size} >= r.threshold`
}

/** From nothing, any rise is more than any percentage. */
const PERCENT_OF_BEFORE = "coalesce(100 * abs(v.after - v.before) / nullif(v.before, 0), 'infinity')"

const visibilityMoved: AlertKind = {
  name: 'visibility_moved',
  tells: 'the visibility of an app, by the curve `reciprocal`',
  more: '`tag`, `keyword`',
  takes: OF_APPS,
  threshold: { counts: 'percent of what it was: 10 is a fall from 40 to 36', ...ANY_AMOUNT },
  isOfDay: true,
  source: RANKS,
  select: selectMoved('visibility_moved', {
    before: '100 * a.worth_before / nullif(l.weight, 0)',
    after: '100 * a.worth / nullif(l.weight, 0)',
    size: PERCENT_OF_BEFORE,
  }),
  sentence: (event) => describeMoved('visibility', event),
}

const shareOfVoiceMoved: AlertKind = {
  ...visibilityMoved,
  name: 'share_of_voice_moved',
  tells: 'its share of the places of everybody',
  more: 'likewise',
  threshold: { counts: 'percent of what it was', ...ANY_AMOUNT },
  select: selectMoved('share_of_voice_moved', {
    before: '100 * a.worth_before / nullif(l.worth_before, 0)',
    after: '100 * a.worth / nullif(l.worth, 0)',
    size: PERCENT_OF_BEFORE,
  }),
  sentence: (event) => describeMoved('share of voice', event),
}

function describeMoved(what: string, event: ToldEvent): string {
  const { app, before, after, comparedWith } = event
  const verb = (after ?? 0) > (before ?? 0) ? 'rose' : 'fell'
  const values = `from ${percent(before)} to ${percent(after)}`
  return `the ${what} of ${app} ${verb} ${values}${describeScope(event)}${comparedWith}.`
}

function percent(value: number | null): string {
  return value === null ? '–' : `${value.toLocaleString('en-US', { maximumFractionDigits: 1 })} %`
}

function describeScope({ detail }: ToldEvent): string {
  const parts = [detail.tag && `tag ${detail.tag}`, detail.list === 'chart' && 'charts'].filter(Boolean)
  return parts.length === 0 ? '' : ` (${parts.join(', ')})`
}

const topCountMoved: AlertKind = {
  ...visibilityMoved,
  name: 'top_count_moved',
  tells: 'on how many keywords an app is in the top N',
  more: '`top` is N',
  takes: [...OF_APPS, 'top'],
  needs: ['top'],
  threshold: { counts: 'keywords', ...ANY_AMOUNT },
  select: selectMoved('top_count_moved', {
    before: 'a.in_top_before',
    after: 'a.in_top',
    size: 'abs(v.after - v.before)',
  }),
  sentence: (event) => {
    const { app, before, after, detail, comparedWith } = event
    const now = `is in the top ${detail.top} of ${countOf(after ?? 0, 'keyword')}`
    return `${app} ${now}, and was in that of ${before}${describeScope(event)}${comparedWith}.`
  },
}

/** The apps in the top of the lists `m` that a rule `r` means, with whether it is one of now. */
const selectTop = (apps: string, isNow: boolean) => `
      select r.id as rule_id, m.list, unnest(m.${apps}[:r.top]) as app, ${isNow} as is_now
      from rule r join rank m on m.days = r.days and m.app is null and m.is_compared and ${MEANS_LIST}
      where r.kind = 'new_app'`

const newApp: AlertKind = {
  name: 'new_app',
  tells: 'an app that the project does not watch, and that came into the top N of so many keywords',
  more: '`top` is N; each app once',
  takes: ['store', ...LISTS, 'top', 'compared_with'],
  needs: ['top'],
  threshold: { counts: 'keywords', ...ANY_AMOUNT },
  isOfDay: true,
  source: RANKS,
  select: `
    select r.id as rule_id, c.app::text as subject, ${dayBegins('0')} as slot,
      timestamptz '-infinity' as compared_slot, c.app, c.lists_before as before, c.lists as after,
      jsonb_build_object('top', r.top, 'keywords', array(
        select t.subject from rank m join target t on t.id = m.target_id
        where m.app is null and m.days = r.days and m.list = c.list and m.is_compared
          and c.app = any(m.top_apps[:r.top]) and ${MEANS_LIST}
        order by array_position(m.top_apps, c.app), t.subject limit ${EXAMPLES}
      )) as detail
    from (
      select p.rule_id, p.list, p.app, count(*) filter (where p.is_now) as lists,
        count(*) filter (where not p.is_now) as lists_before
      from (${selectTop('top_apps', true)} union all ${selectTop('top_apps_before', false)}) p
      group by p.rule_id, p.list, p.app
    ) c
    join rule r on r.id = c.rule_id and c.lists >= r.threshold and c.lists_before < r.threshold
    join app d on d.id = c.app
    join standing l on l.rule_id = r.id and l.store = d.store and l.list = c.list and l.app is null
    join project p on p.name = ${PROJECT}
    where l.compared >= ${ENOUGH} * l.due and not exists (
      select from project_app w where w.project = p.name and w.app = c.app and w.ended_at is null
    )`,
  sentence: ({ app, after, detail }) => {
    const keywords = countOf(after ?? 0, 'keyword')
    return `${app} is new in the top ${detail.top} of ${keywords}: ${nameSome(detail.keywords, after ?? 0)}.`
  },
}

const marketMoved: AlertKind = {
  name: 'market_moved',
  tells: 'everybody that moved so far, or own apps alone (`market_moves`)',
  takes: ['store', 'tag'],
  threshold: { counts: 'times as far as usual', from: 1.1, to: 1000 },
  isOfDay: true,
  source: OF_SLOT,
  select: `
    select r.id as rule_id, format('%s:%s', m.store, m.list) as subject, ${dayBegins('0')} as slot,
      ${dayBegins('1')} as compared_slot, m.usual as before, m.moved as after,
      jsonb_build_object('store', m.store, 'list', m.list, 'tag', r.tag, 'verdict', m.verdict,
        'own_moved', m.own_moved, 'own_change', m.own_change) as detail
    from rule r
    join project p on p.name = ${PROJECT}
    cross join lateral (select (${SLOT} at time zone p.timezone)::date as day) d
    cross join lateral market_moves(${PROJECT}, d.day, d.day, r.tag, in_times => r.threshold::numeric) m
    where r.kind = 'market_moved' and (r.store is null or r.store = m.store)
      and m.verdict in ('everybody', 'own')`,
  sentence: (event) => {
    const { before, after, detail, comparedWith } = event
    const store = STORE_NAMES[detail.store as Store]
    const own = `${places(detail.own_moved)} (${describeClimb(Number(detail.own_change ?? 0))})`
    const all = places(after)
    const where = `${store}${describeScope(event)}`
    if (detail.verdict === 'own')
      return `only your apps moved in ${where}: by ${own}; all apps by ${all}, as usual${comparedWith}.`
    const usual = `where ${Number(before)} is usual`
    return `all of ${where} moved: apps by ${all}, ${usual}; your apps by ${own}${comparedWith}.`
  },
}

const places = (count: unknown) => `${Number(count ?? 0)} places on average`

function describeClimb(change: number): string {
  if (change === 0) return 'as many up as down'
  return `${Math.abs(change)} ${change > 0 ? 'up' : 'down'}`
}

export const DAY_KINDS: readonly AlertKind[] = [
  visibilityMoved,
  shareOfVoiceMoved,
  topCountMoved,
  newApp,
  marketMoved,
]
