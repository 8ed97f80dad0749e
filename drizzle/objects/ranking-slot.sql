-- `ranking` is joined at the top, by target and slot: a filter on `slot` opens only the partitions that it
-- leaves.
create or replace view ranking_slot as
select p.project, p.store, p.list, p.keyword, p.collection, p.category, p.location, p.location_code,
  p.language, p.tags, p.weight,
  (r.slot at time zone p.timezone)::date as day, r.slot, r.captured_at, r.gap, r.reason, r.depth,
    r.results_count,
  case when r.gap is null then p.check_url end as check_url, r.app_ids, r.absolute, p.every, p.target_id
from list_period p
join ranking_row r on r.target_id = p.target_id
  and is_shown(p.every, p.first_slot, p.last_slot, p.ended_at, r.slot, r.gap);
comment on view ranking_slot is
  'Every slot of a keyword or chart of a project that is over: a measurement with all its apps, or a '
  'gap. What is not over is in pending_slot. A filter on day alone reads the whole history: filter by '
  'slot, or ask list_daily(project, from, to).';
comment on column ranking_slot.project is 'The project.';
comment on column ranking_slot.store is 'ios_store or android_store.';
comment on column ranking_slot.list is 'keyword or chart.';
comment on column ranking_slot.keyword is 'The keyword, as it was watched; null for a chart.';
comment on column ranking_slot.collection is 'The collection of a chart; null for a keyword.';
comment on column ranking_slot.category is
  'The category of a chart; null for a keyword, and for all of the collection.';
comment on column ranking_slot.location is
  'The name of the location; its code until the references are loaded.';
comment on column ranking_slot.location_code is 'The code of the location at the service.';
comment on column ranking_slot.language is 'The language code.';
comment on column ranking_slot.tags is
  'The tags of the watch on it, as they are now; none when the watch is gone.';
comment on column ranking_slot.weight is
  'What the keyword is worth beside the others, as its watch says now; 1 for a chart, and when the watch '
  'is gone.';
comment on column ranking_slot.day is 'The day of the slot in the time zone of the project.';
comment on column ranking_slot.slot is 'When the measurement was due.';
comment on column ranking_slot.captured_at is 'When it was measured; null unless it was.';
comment on column ranking_slot.gap is 'Null when it was measured; else failed, budget, missed or html_only.';
comment on column ranking_slot.reason is
  'Why there is no measurement, when that is known; of a measurement, what of it could not be read.';
comment on column ranking_slot.depth is 'How many ranks were asked for: "not in top" means not among these.';
comment on column ranking_slot.results_count is 'How many results the store said that there are.';
comment on column ranking_slot.check_url is
  'Where a person sees the same at the store, as the service said last; null where nothing was measured.';
comment on column ranking_slot.app_ids is
  'The apps by organic rank, as numbers of the dictionary; a hole is 0.';
comment on column ranking_slot.absolute is
  'The absolute ranks beside app_ids; null when none differs from the organic rank.';
comment on column ranking_slot.every is 'How often it was asked for at the time.';
comment on column ranking_slot.target_id is 'The measured target: what ranking, task and charge call it.';
grant select on ranking_slot to storerank_editor, storerank_reader;
