/**
 * Reviews, once each, however many captures show them: an edited one is what its latest capture shows, in
 * whatever order captures arrive. Written in the transaction of the snapshots that brought them.
 */
import type { Transaction } from '../db/database.ts'
import type { ReviewResponse } from '../service/results.ts'

/** A review as captures showed it. */
export interface SeenReview {
  /** Of the capture that shows it: where it was written is known by its target. */
  readonly serviceId: string
  /** In the dictionary. */
  readonly app: number
  readonly reviewId: string
  readonly version: string | null
  readonly rating: number | null
  readonly title: string | null
  readonly text: string | null
  readonly author: string | null
  readonly authorImage: string | null
  readonly helpfulCount: number | null
  readonly responses: readonly ReviewResponse[] | null
  readonly writtenAt: Date | null
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

/**
 * Pure: each review once, as its latest capture shows it, in the one order in which all writers lock them.
 */
export function mergeReviews(seen: readonly SeenReview[]): SeenReview[] {
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

function timeOf(at: Date | null): number {
  return at?.getTime() ?? Number.POSITIVE_INFINITY
}

async function upsertPart(tx: Transaction, reviews: readonly SeenReview[]): Promise<void> {
  await tx`
    insert into review as r (app, review_id, location_code, language_code, version, rating, title, text,
      author,
      author_image, helpful_count, responses, written_at, first_seen_at, last_seen_at)
    select s.app, s.review_id, t.location_code, t.language_code, s.version, s.rating, s.title, s.text,
      s.author,
      s.author_image, s.helpful_count, s.responses::jsonb, s.written_at,
        coalesce(s.first_seen_at, clock_timestamp()), coalesce(s.last_seen_at, clock_timestamp())
    from unnest(
      ${reviews.map((review) => review.serviceId)}::text[], ${reviews.map((review) => review.app)}::int[],
      ${reviews.map((review) => review.reviewId)}::text[], ${reviews.map((review) => review.version)}::text[],
      ${reviews.map((review) => review.rating)}::real[], ${reviews.map((review) => review.title)}::text[],
      ${reviews.map((review) => review.text)}::text[], ${reviews.map((review) => review.author)}::text[],
      ${reviews.map((review) => review.authorImage)}::text[],
      ${reviews.map((review) => review.helpfulCount)}::int[],
        ${reviews.map((review) => review.responses && JSON.stringify(review.responses))}::text[],
      ${reviews.map((review) => review.writtenAt?.toISOString() ?? null)}::timestamptz[],
      ${reviews.map((review) => review.firstSeenAt?.toISOString() ?? null)}::timestamptz[],
      ${reviews.map((review) => review.lastSeenAt?.toISOString() ?? null)}::timestamptz[]
    ) with ordinality as s (service_id, app, review_id, version, rating, title, text, author, author_image,
      helpful_count,
      responses, written_at, first_seen_at, last_seen_at, place)
    join task k using (service_id) join target t on t.id = k.target_id
    order by s.place
    on conflict (app, review_id) do update set
      version = case when excluded.last_seen_at < r.last_seen_at then r.version else excluded.version end,
      rating = case when excluded.last_seen_at < r.last_seen_at then r.rating else excluded.rating end,
      title = case when excluded.last_seen_at < r.last_seen_at then r.title else excluded.title end,
      text = case when excluded.last_seen_at < r.last_seen_at then r.text else excluded.text end,
      author = case when excluded.last_seen_at < r.last_seen_at then r.author else excluded.author end,
      author_image = case when excluded.last_seen_at < r.last_seen_at then r.author_image
        else excluded.author_image end,
      helpful_count = case when excluded.last_seen_at < r.last_seen_at then r.helpful_count
        else excluded.helpful_count end,
      responses = case when excluded.last_seen_at < r.last_seen_at then r.responses
        else excluded.responses end,
      written_at = case when excluded.last_seen_at < r.last_seen_at then r.written_at
        else excluded.written_at end,
      first_seen_at = least(r.first_seen_at, excluded.first_seen_at),
      last_seen_at = greatest(r.last_seen_at, excluded.last_seen_at)`
}
