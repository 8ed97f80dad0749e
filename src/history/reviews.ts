/** Reviews, once each: an edited one is what its latest capture shows, in whatever order they arrive. */
import type { Transaction } from '../db/database.ts'
import { type FieldsOf, sql, type Value } from '../db/sql.ts'
import type { ReviewResponse } from '../service/results.ts'

const CONTENT = `
  version text, rating real, title text, text text, author text, authorImage text, helpfulCount int,
  responses jsonb, writtenAt timestamptz`
const REVIEW = `${CONTENT}, app int, reviewId text`
const SEEN = 'serviceId text, firstSeenAt timestamptz, lastSeenAt timestamptz, place int'

type Content = { readonly [Column in Exclude<FieldsOf<typeof CONTENT>, 'responses'>]: Value }

export interface SeenReview extends Content {
  /** Of the capture that shows it: where it was written is known by its target. */
  readonly serviceId: string
  /** In the dictionary. */
  readonly app: number
  readonly reviewId: string
  readonly responses: readonly ReviewResponse[] | null
  /** Captures that showed it first and last; null: now. */
  readonly firstSeenAt: Date | null
  readonly lastSeenAt: Date | null
}

/** A review has some hundred bytes, and 100,000 characters at most. */
const ROWS_PER_STATEMENT = 5_000

/** Stores reviews of captures that are new. */
export async function upsertReviews(tx: Transaction, seen: readonly SeenReview[]): Promise<void> {
  const reviews = mergeReviews(seen)
  for (let from = 0; from < reviews.length; from += ROWS_PER_STATEMENT) {
    await upsertPart(tx, reviews.slice(from, from + ROWS_PER_STATEMENT))
  }
}

/** Pure: each review once, as its latest capture shows it, in the order in which all writers lock them. */
export function mergeReviews(seen: readonly SeenReview[]): SeenReview[] {
  const timeOf = (at: Date | null) => at?.getTime() ?? Infinity
  const byKey = new Map<string, SeenReview>()
  for (const review of seen) {
    const key = `${review.app} ${review.reviewId}`
    const other = byKey.get(key) ?? review
    const [older, newer] =
      timeOf(review.lastSeenAt) < timeOf(other.lastSeenAt) ? [review, other] : [other, review]
    const isFirst = timeOf(older.firstSeenAt) <= timeOf(newer.firstSeenAt)
    byKey.set(key, { ...newer, firstSeenAt: isFirst ? older.firstSeenAt : newer.firstSeenAt })
  }
  return [...byKey.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, review]) => review)
}

async function upsertPart(tx: Transaction, reviews: readonly SeenReview[]): Promise<void> {
  const rows = reviews.map((review, place) => ({ ...review, place }))
  await tx`
    insert into review as r (location_code, language_code, first_seen_at, last_seen_at,
      ${sql.columns(REVIEW)})
    select t.location_code, t.language_code, coalesce(s.first_seen_at, clock_timestamp()),
      coalesce(s.last_seen_at, clock_timestamp()), ${sql.columns(REVIEW, 's')}
    from ${sql.rows('s', rows, `${REVIEW}, ${SEEN}`)}
    join task k using (service_id) join target t on t.id = k.target_id
    order by s.place
    on conflict (app, review_id) do update set (${sql.columns(CONTENT)}) = (
        select ${sql.columns(CONTENT, 'r')} where excluded.last_seen_at < r.last_seen_at
        union all
        select ${sql.columns(CONTENT, 'excluded')} where excluded.last_seen_at >= r.last_seen_at),
      first_seen_at = least(r.first_seen_at, excluded.first_seen_at),
      last_seen_at = greatest(r.last_seen_at, excluded.last_seen_at)`
}
