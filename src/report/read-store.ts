/** What the stores said of the apps of a report: changes of their pages, ratings, reviews. */
import type { Transaction } from '../db/database.ts'
import { sql } from '../db/sql.ts'
import type { Day, Report } from './model.ts'
import {
  type Annotation,
  type ListingChange,
  MOST_ANNOTATIONS,
  type Ratings,
  type Review,
} from './model-store.ts'
import type { Scope } from './scope.ts'

const LOW_REVIEWS = 20
const LONGEST_REVIEW = 1000
const LONGEST_CHANGE = 4000

export async function readChanges(
  tx: Transaction,
  { project, timezone, from, to, appOf }: Scope,
): Promise<ListingChange[]> {
  const rows = await tx<(Omit<ListingChange, 'app'> & { id: number })[]>`
    select to_char(c.slot at time zone ${timezone}, 'YYYY-MM-DD') as day, c.app as id,
      case l.type when 'Country' then l.country_iso_code else c.location end as place, c.field,
      left(c.old_value, ${LONGEST_CHANGE}) as before, left(c.new_value, ${LONGEST_CHANGE}) as after
    from app_change c
    left join location l on l.store = c.store and l.code = c.location_code
    where c.project = ${project} and c.app = any(${[...appOf.keys()]})
      and c.slot >= ${from}::date::timestamp at time zone ${timezone}
      and c.slot < (${to}::date + 1)::timestamp at time zone ${timezone}
    order by c.slot, c.app, place, c.field`
  return rows.map(({ id, ...change }) => ({ ...change, app: appOf.get(id) ?? 0 }))
}

/**
 * The latest `MOST_ANNOTATIONS` notes of the span, the oldest first. No app of both stores has one id: the
 * ids of one are numbers.
 */
export async function readAnnotations(
  tx: Transaction,
  { project, from, to }: Scope,
  apps: Report['apps'],
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

interface DayOfPage {
  readonly id: number
  readonly place: string
  readonly day: Day
  readonly rating: number | null
  readonly votes: number | null
  readonly reviews: number | null
}

/** By app and place, as each day's last measurement has it. */
export async function readRatings(tx: Transaction, scope: Scope): Promise<Ratings[]> {
  const { project, timezone, from, to, appOf, days } = scope
  const rows = await tx<DayOfPage[]>`
    select distinct on (h.app, place, day) h.app as id, h.rating, h.votes_count as votes,
      h.reviews_count as reviews,
      case l.type when 'Country' then l.country_iso_code else h.location end as place,
      to_char(h.slot at time zone ${timezone}, 'YYYY-MM-DD') as day
    from app_history h
    left join location l on l.store = h.store and l.code = h.location_code
    where h.project = ${project} and h.app = any(${[...appOf.keys()]}) and h.outcome = 'measured'
      and h.slot >= ${from}::date::timestamp at time zone ${timezone}
      and h.slot < (${to}::date + 1)::timestamp at time zone ${timezone}
    order by h.app, place, day, h.slot desc`
  const series = Map.groupBy(rows, ({ id, place }) => `${id} ${place}`)
  return [...series.values()]
    .flatMap((own): Ratings[] => {
      const [first] = own
      if (first === undefined) return []
      const byDay = new Map(own.map((row) => [row.day, row]))
      const daily = (key: 'rating' | 'votes' | 'reviews') => days.map((day) => byDay.get(day)?.[key] ?? null)
      return [
        {
          app: appOf.get(first.id) ?? 0,
          place: first.place,
          rating: daily('rating'),
          votes: daily('votes'),
          reviews: daily('reviews'),
        },
      ]
    })
    .toSorted((a, b) => a.app - b.app)
}

/** Those written within the range. */
export async function readReviews(
  tx: Transaction,
  { project, timezone, from, to, appOf }: Scope,
): Promise<Pick<Report, 'reviewCounts' | 'lowReviews'>> {
  const within = sql`
    r.project = ${project} and r.app = any(${[...appOf.keys()]})
      and r.written_at >= ${from}::date::timestamp at time zone ${timezone}
      and r.written_at < (${to}::date + 1)::timestamp at time zone ${timezone}`
  const counts = await tx<{ id: number; stars: [number, number, number, number, number] }[]>`
    select r.app as id, array[count(*) filter (where stars = 1), count(*) filter (where stars = 2),
      count(*) filter (where stars = 3), count(*) filter (where stars = 4),
      count(*) filter (where stars = 5)]::integer[] as stars
    from app_review r cross join lateral (select round(r.rating) as stars) s
    where ${within} group by 1 order by 1`
  const low = await tx<(Omit<Review, 'app'> & { id: number })[]>`
    select to_char(max(r.written_at) at time zone ${timezone}, 'YYYY-MM-DD') as day, r.app as id,
      count(*)::integer as times, string_agg(distinct r.location, ', ') as place,
      round(r.rating)::integer as stars, r.title, left(r.text, ${LONGEST_REVIEW}) as text, r.version,
      (array_agg(r.author order by r.written_at desc))[1] as author,
      left((array_agg(r.response order by r.written_at desc) filter (where r.response is not null))[1],
        ${LONGEST_REVIEW}) as response
    from app_review r
    where ${within} and r.rating < 2.5
    group by r.app, round(r.rating), r.title, r.text, r.version
    order by max(r.written_at) desc limit ${LOW_REVIEWS}`
  return {
    reviewCounts: counts.map(({ id, stars }) => ({ app: appOf.get(id) ?? 0, stars })),
    lowReviews: low.map(({ id, ...review }) => ({ ...review, app: appOf.get(id) ?? 0 })),
  }
}
