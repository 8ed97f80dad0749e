/** What the stores said of the apps of a report: changes of their pages, ratings, reviews. */
import type { Transaction } from '../db/database.ts'
import { sql } from '../db/sql.ts'
import type { ReportedApp } from './read-ranks.ts'
import { type Daily, type Day, isWithin, locate, placeOf, type Row, type Scope } from './scope.ts'

/** What changed on the page of an app in its store. */
export interface ListingChange {
  readonly day: Day
  readonly app: number
  readonly place: string
  /** title, description, version, price, … */
  readonly field: string
  /** A list as JSON; null for nothing. */
  readonly before: string | null
  readonly after: string | null
}

/** So many notes are read for a report, the latest: a person may keep a diary of every hour. */
export const MOST_ANNOTATIONS = 500

/** A note of the project's own beside the days: a campaign, an outage. */
export interface Annotation {
  readonly day: Day
  /** Null: it is about all of them. */
  readonly app: number | null
  readonly text: string
}

/** So many events of the span are looked into, the latest. */
export const MOST_IMPACTS = 6

/** What changed with a release, a change of the title or a note: function `impact`, of an own app. */
export interface Impact {
  readonly day: Day
  readonly app: number
  /** What happened on the day, in the words of the note or the release. */
  readonly event: string
  /** Keywords with a word that was added to the title or subtitle, or removed; the others; all. */
  readonly lists: 'all' | 'added' | 'removed' | 'others'
  readonly words: readonly string[]
  readonly compared: number
  /** Mean ranks in the days before and from it on; null where it ranked in neither. */
  readonly before: number | null
  readonly after: number | null
  /** Places climbed, and those that competitors climbed on the same keywords. */
  readonly change: number | null
  readonly competitors: number | null
  /** How far it is from where it was, and how far all apps of the same keywords are. */
  readonly moved: number | null
  readonly everybody: number | null
}

/** What the store said of an app in one place. Null where it was not asked, or did not say. */
export interface Ratings {
  readonly app: number
  readonly place: string
  readonly rating: Daily<number | null>
  readonly votes: Daily<number | null>
  readonly reviews: Daily<number | null>
}

export interface ReviewCount {
  readonly app: number
  /** Written within the range, of one to five stars. */
  readonly stars: readonly [number, number, number, number, number]
}

/** Reviews of an app and version that say the same with as many stars. */
export interface Review {
  /** The latest one's, as are author and response. */
  readonly day: Day
  readonly times: number
  readonly app: number
  readonly place: string
  readonly stars: number
  readonly title: string | null
  readonly text: string | null
  readonly author: string | null
  readonly version: string | null
  /** What the developer answered last. */
  readonly response: string | null
}

const LOW_REVIEWS = 20
const LONGEST_REVIEW = 1000
const LONGEST_CHANGE = 4000
const WEEK_DAYS = 7

export async function readChanges(tx: Transaction, scope: Scope): Promise<ListingChange[]> {
  const rows = await tx<Row<ListingChange>[]>`
    select to_char(c.slot at time zone ${scope.timezone}, 'YYYY-MM-DD') as day, c.app as id,
      ${placeOf('c')} as place, c.field, left(c.old_value, ${LONGEST_CHANGE}) as before,
      left(c.new_value, ${LONGEST_CHANGE}) as after
    from app_change c
    where c.project = ${scope.project} and c.app = any(${[...scope.appOf.keys()]})
      and ${isWithin('c.slot', scope)}
    order by c.slot, c.app, place, c.field`
  return locate(scope, rows)
}

/** The latest notes of the span, the oldest first. No app of both stores has one id: numbers are of one. */
export async function readAnnotations(
  tx: Transaction,
  { project, from, to }: Scope,
  apps: readonly ReportedApp[],
): Promise<Annotation[]> {
  const rows = await tx<{ day: Day; appId: string | null; text: string }[]>`
    select to_char(day, 'YYYY-MM-DD') as day, app_id as "appId", text from annotation
    where project = ${project} and day between ${from}::date and ${to}::date
    order by annotation.day desc, id desc limit ${MOST_ANNOTATIONS}`
  return rows.toReversed().map(({ appId, ...note }) => {
    const app = apps.findIndex((each) => each.appId === appId)
    return { ...note, app: app === -1 ? null : app }
  })
}

/** What the latest releases, titles and notes changed, those of an app first; of a week, its days so far. */
export async function readImpacts(tx: Transaction, scope: Scope): Promise<Impact[]> {
  const { project, from, to, tag, location } = scope
  const rows = await tx<Row<Impact>[]>`
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
      in_tag => ${tag}, in_location => ${location}) i
    order by e.day desc, i.app, i.lists`
  return locate(scope, rows)
}

type Numbers = 'rating' | 'votes' | 'reviews'

export async function readRatings(tx: Transaction, scope: Scope): Promise<Ratings[]> {
  const { project, timezone, from, days, appOf } = scope
  const rows = await tx<{ id: number; place: string; at: Record<number, Record<Numbers, number | null>> }[]>`
    select id, place, jsonb_object_agg(day, numbers) as at from (
      select distinct on (h.app, place, day) h.app as id, ${placeOf('h')} as place,
        (h.slot at time zone ${timezone})::date - ${from}::date as day,
        jsonb_build_object('rating', h.rating, 'votes', h.votes_count, 'reviews', h.reviews_count) as numbers
      from app_history h
      where h.project = ${project} and h.app = any(${[...appOf.keys()]}) and h.outcome = 'measured'
        and ${isWithin('h.slot', scope)}
      order by h.app, place, day, h.slot desc
    ) h group by 1, 2 order by 1, 2`
  const series = rows.map(({ id, place, at }) => {
    const daily = (key: Numbers) => days.map((_, day) => at[day]?.[key] ?? null)
    return { id, place, rating: daily('rating'), votes: daily('votes'), reviews: daily('reviews') }
  })
  return locate<Ratings>(scope, series).toSorted((a, b) => a.app - b.app)
}

/** Those written within the range; of one and two stars, the latest first. */
export async function readReviews(
  tx: Transaction,
  scope: Scope,
): Promise<{ reviewCounts: readonly ReviewCount[]; lowReviews: readonly Review[] }> {
  const within = sql`r.project = ${scope.project} and r.app = any(${[...scope.appOf.keys()]})
    and ${isWithin('r.written_at', scope)}`
  const counts = await tx<Row<ReviewCount>[]>`
    select r.app as id, array[count(*) filter (where stars = 1), count(*) filter (where stars = 2),
      count(*) filter (where stars = 3), count(*) filter (where stars = 4),
      count(*) filter (where stars = 5)]::integer[] as stars
    from app_review r cross join lateral (select round(r.rating) as stars) s
    where ${within} group by 1 order by 1`
  const low = await tx<Row<Review>[]>`
    select to_char(max(r.written_at) at time zone ${scope.timezone}, 'YYYY-MM-DD') as day, r.app as id,
      count(*)::integer as times, string_agg(distinct r.location, ', ') as place,
      round(r.rating)::integer as stars, r.title, left(r.text, ${LONGEST_REVIEW}) as text, r.version,
      (array_agg(r.author order by r.written_at desc))[1] as author,
      left((array_agg(r.response order by r.written_at desc) filter (where r.response is not null))[1],
        ${LONGEST_REVIEW}) as response
    from app_review r
    where ${within} and r.rating < 2.5
    group by r.app, round(r.rating), r.title, r.text, r.version
    order by max(r.written_at) desc limit ${LOW_REVIEWS}`
  return { reviewCounts: locate(scope, counts), lowReviews: locate(scope, low) }
}
