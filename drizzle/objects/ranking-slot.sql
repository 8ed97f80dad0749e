-- Views join watch_period and not the watches, so that a deleted, disabled or changed watch keeps its history and owes only
-- what it asked for at the time. The slots of a period are a lateral per period, so that each is an index scan of the
-- partitions that a filter on `slot` leaves.
create or replace view ranking_slot as
select p.project, p.target_id, p.every, s.slot, s.captured_at, s.gap, s.reason, s.depth, s.results_count, s.check_url,
  s.app_ids, s.absolute
from watch_period p
cross join lateral (
  select h.slot, h.captured_at, h.gap, h.reason, h.depth, h.results_count, h.check_url, h.app_ids, h.absolute
  from ranking h
  where h.target_id = p.target_id and is_shown(p.every, p.first_slot, p.last_slot, p.ended_at, h.slot, h.gap)
  union all
  select due, null, 'pending', null, null, null, null, null, null
  from pending_slots(p.kind, p.target_id, p.every, p.first_slot, p.last_slot, p.ended_at, p.closed_to) due
) s
where p.kind in ('keyword', 'chart');
comment on view ranking_slot is
  'Every slot that a project asked for a keyword or a chart: a measurement, a gap, or pending.';
comment on column ranking_slot.project is 'The project.';
comment on column ranking_slot.target_id is 'The measured target: what ranking, task and charge call it.';
comment on column ranking_slot.every is 'How often it was asked for at the time.';
comment on column ranking_slot.slot is 'When the measurement was due.';
comment on column ranking_slot.captured_at is 'When it was measured; null unless it was.';
comment on column ranking_slot.gap is 'Null when it was measured; else failed, budget, missed, html_only, or pending.';
comment on column ranking_slot.reason is 'Why there is no measurement, when that is known; of a measurement, what of it could not be read.';
comment on column ranking_slot.depth is 'How many ranks were asked for: "not in top" means not among these.';
comment on column ranking_slot.results_count is 'How many results the store said that there are.';
comment on column ranking_slot.check_url is 'Where a person sees the same at the store; may be null.';
comment on column ranking_slot.app_ids is 'The apps by organic rank, as numbers of the dictionary; a hole is 0.';
comment on column ranking_slot.absolute is 'The absolute ranks beside app_ids; null when none differs from the organic rank.';
grant select on ranking_slot to storerank_editor, storerank_reader;
