--- Every slot that a project asked for the details or the reviews of an app: a measurement, a gap, or
--- pending. What only a page shows (price, version, installs, update) is null for reviews.
create or replace view app_slot as
select p.project, p.target_id, p.every, s.slot, s.captured_at, s.gap, s.reason, p.app, s.found, s.rating,
  s.votes_count, s.reviews_count, s.price_micros, s.currency, s.version, s.installs_count, s.updated_at
from watch_period p
cross join lateral (
  select h.slot, h.captured_at, h.gap, h.reason, h.found, h.rating, h.votes_count, h.reviews_count,
    h.price_micros, h.currency, h.version, h.installs_count, h.updated_at
  from app_snapshot h
  where h.target_id = p.target_id and {{shown p h}}
  union all
  select due.slot, null, 'pending', null, null, null, null, null, null, null, null, null, null
  from pending_snapshot due where due.period_id = p.id
) s
where p.kind in ('app', 'reviews') and p.target_id is not null;
