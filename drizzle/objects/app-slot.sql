create or replace view app_slot as
select p.project, p.target_id, p.every, s.slot, s.captured_at, s.gap, s.reason, p.app, s.found, s.rating,
  s.votes_count,
  s.reviews_count, s.price_micros, s.currency, s.version, s.installs_count, s.updated_at
from watch_period p
cross join lateral (
  select h.slot, h.captured_at, h.gap, h.reason, h.found, h.rating, h.votes_count, h.reviews_count,
    h.price_micros,
    h.currency, h.version, h.installs_count, h.updated_at
  from app_snapshot h
  where h.target_id = p.target_id and is_shown(p.every, p.first_slot, p.last_slot, p.ended_at, h.slot, h.gap)
  union all
  select due.slot, null, 'pending', null, null, null, null, null, null, null, null, null, null
  from pending_snapshot due where due.period_id = p.id
) s
where p.kind in ('app', 'reviews') and p.target_id is not null;
comment on view app_slot is
  'Every slot that a project asked for the details or the reviews of an app: a measurement, a gap, or '
  'pending.';
comment on column app_slot.project is 'The project.';
comment on column app_slot.target_id is 'The measured target: what ranking, task and charge call it.';
comment on column app_slot.every is 'How often it was asked for at the time.';
comment on column app_slot.slot is 'When the measurement was due.';
comment on column app_slot.captured_at is 'When it was measured; null unless it was.';
comment on column app_slot.gap is
  'Null when it was measured; else failed, budget, missed, html_only, or pending.';
comment on column app_slot.reason is 'Why there is no measurement, when that is known.';
comment on column app_slot.app is 'The app in the dictionary: app.id.';
comment on column app_slot.found is 'Whether the store has the app.';
comment on column app_slot.rating is 'The average rating.';
comment on column app_slot.votes_count is 'How many rated it.';
comment on column app_slot.reviews_count is 'How many reviewed it.';
comment on column app_slot.price_micros is 'The price in millionths of the currency; null for reviews.';
comment on column app_slot.currency is 'The currency of the price; null for reviews.';
comment on column app_slot.version is 'The version of the app; null for reviews.';
comment on column app_slot.installs_count is
  'How often it was installed, as far as the store tells; null for reviews.';
comment on column app_slot.updated_at is 'When the app was last updated in the store; null for reviews.';
grant select on app_slot to storerank_editor, storerank_reader;
