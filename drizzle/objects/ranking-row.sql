create or replace view ranking_row as
select r.target_id, r.slot, r.captured_at, r.gap, r.reason, r.depth, r.results_count, r.app_ids, r.absolute
  from ranking r;
comment on view ranking_row is
  'The history of searches and charts as it is stored, whoever asked for it: a measurement with all its'
  ' apps, or a gap.';
comment on column ranking_row.target_id is 'The measured target: what ranking, task and charge call it.';
comment on column ranking_row.slot is 'When the measurement was due.';
comment on column ranking_row.captured_at is 'When it was measured; null unless it was.';
comment on column ranking_row.gap is 'Null when it was measured; else failed, budget, missed or html_only.';
comment on column ranking_row.reason is
  'Why there is no measurement, when that is known; of a measurement, what of it could not be read.';
comment on column ranking_row.depth is 'How many ranks were asked for: "not in top" means not among these.';
comment on column ranking_row.results_count is 'How many results the store said that there are.';
comment on column ranking_row.app_ids is
  'The apps by organic rank, as numbers of the dictionary; a hole is 0.';
comment on column ranking_row.absolute is
  'The absolute ranks beside app_ids; null when none differs from the organic rank.';
grant select on ranking_row to storerank_editor, storerank_reader;
