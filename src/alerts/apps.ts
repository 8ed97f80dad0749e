/** What rules find on the pages of apps and in their reviews, in the measurements of one slot. */
import type { Fragment } from 'postgres'
import type { Transaction } from '../db/database.ts'
import { type DueScope, meansApp } from './scope.ts'

const LONGEST_VALUE = 200
const LONGEST_REVIEW = 500
/** A store may show a review so many days after it was written; one that is older came to light by a greater depth. */
const REVIEW_DELAY_DAYS = 7

/** A common table expression behind `due`: the pages and reviews of apps that the project follows now, measured in the slot. */
export function pages(tx: Transaction, { project, slot }: DueScope): Fragment {
  return tx`
    page as materialized (
      select d.target_id, h.slot, t.function, t.store, p.app, a.role, a.app_id, h.rating, h.captured_at
      from (select distinct target_id from due) d
      join target t on t.id = d.target_id
      join watch_period p on p.target_id = d.target_id and p.project = ${project.name} and p.kind in ('app', 'reviews')
        and p.ended_at is null
      join project_app a on a.project = ${project.name} and a.app = p.app
      join app_snapshot h on h.target_id = d.target_id and h.slot = ${slot}::timestamptz and h.gap is null
    )` as Fragment
}

export const APP_KINDS: Readonly<Record<string, (tx: Transaction, scope: DueScope) => Fragment>> = {
  rating_below: ratingBelow,
  rating_dropped: ratingDropped,
  review_low: reviewLow,
  listing_changed: listingChanged,
}

/** Told once, until it was not below any more. */
function ratingBelow(tx: Transaction): Fragment {
  return tx`
    select r.id, format('%s:%s', a.target_id, a.app), a.slot, coalesce(good.slot, '-infinity'), a.target_id, a.app, null::integer,
      good.rating::float8, round(a.rating::numeric, 3)::float8, jsonb_build_object('limit', r.threshold)
    from rule r
    join page a on a.function = 'app_info' and (r.store is null or r.store = a.store) and ${meansApp(tx)}
    left join lateral (
      select s.slot, round(s.rating::numeric, 3) as rating from app_snapshot s
      where s.target_id = a.target_id and s.slot < a.slot and s.gap is null and round(s.rating::numeric, 3) >= r.threshold
      order by s.slot desc limit 1
    ) good on true
    where r.kind = 'rating_below' and round(a.rating::numeric, 3) < r.threshold` as Fragment
}

function ratingDropped(tx: Transaction): Fragment {
  return tx`
    select r.id, format('%s:%s', a.target_id, a.app), a.slot, b.slot, a.target_id, a.app, null::integer,
      round(b.rating::numeric, 3)::float8, round(a.rating::numeric, 3)::float8, '{}'::jsonb
    from rule r
    join page a on a.function = 'app_info' and (r.store is null or r.store = a.store) and ${meansApp(tx)}
    join app_snapshot b on b.target_id = a.target_id and b.slot = a.slot - make_interval(hours => 24 * r.days) and b.gap is null
    where r.kind = 'rating_dropped' and round(b.rating::numeric, 3) - round(a.rating::numeric, 3) >= r.threshold::numeric` as Fragment
}

/** Reviews that the measurement before did not show; the first measurement of all shows what there was. */
function reviewLow(tx: Transaction): Fragment {
  return tx`
    select r.id, format('%s:%s', a.app, v.review_id), a.slot, timestamptz '-infinity', a.target_id, a.app, null::integer,
      null::float8, v.rating::float8, jsonb_build_object('title', left(v.title, ${LONGEST_VALUE}::int),
        'text', left(v.text, ${LONGEST_REVIEW}::int), 'author', left(v.author, ${LONGEST_VALUE}::int), 'version', v.version)
    from rule r
    join page a on a.function = 'app_reviews' and (r.store is null or r.store = a.store) and ${meansApp(tx)}
    cross join lateral (
      select s.captured_at from app_snapshot s
      where s.target_id = a.target_id and s.slot < a.slot and s.gap is null order by s.slot desc limit 1
    ) earlier
    join review v on v.app = a.app and v.first_seen_at > earlier.captured_at and v.first_seen_at <= a.captured_at
      and coalesce(v.written_at, v.first_seen_at) > earlier.captured_at - make_interval(days => ${REVIEW_DELAY_DAYS})
    where r.kind = 'review_low' and v.rating <= r.threshold` as Fragment
}

/** All that changed on a page at once is one event. */
function listingChanged(tx: Transaction, { project, slot }: DueScope): Fragment {
  return tx`
    select r.id, format('%s:%s', a.target_id, a.app), a.slot, min(c.previous_slot), a.target_id, a.app, null::integer,
      null::float8, null::float8, jsonb_build_object('fields', jsonb_agg(jsonb_build_object('field', c.field,
        'before', left(c.old_value, ${LONGEST_VALUE}::int), 'after', left(c.new_value, ${LONGEST_VALUE}::int)) order by c.field))
    from rule r
    join page a on a.function = 'app_info' and (r.store is null or r.store = a.store) and ${meansApp(tx)}
    join app_change c on c.project = ${project.name} and c.slot = ${slot}::timestamptz and c.target_id = a.target_id
    where r.kind = 'listing_changed'
    group by r.id, a.target_id, a.app, a.slot` as Fragment
}
