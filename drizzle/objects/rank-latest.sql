-- The slot may belong to an earlier period (one before `every` was changed, for example), so any period of
-- the project will do. The latest slot is a lateral `limit 1`: `distinct on` reads everything (4,691 ms
-- against 16 ms). A left join by the store of what was found, where each row without an app is dropped again:
-- the planner expects one app of a project, and would join lists and apps first, and look the latest slot up
-- for each app on each list. Where a condition names apps it may.
create or replace view rank_latest as
select k.project, k.store, k.list, k.keyword, k.collection, k.category, k.location, k.location_code,
  k.language, k.tags, k.weight,
  a.app_id, a.title, a.label, a.role, (r.slot at time zone k.timezone)::date as day, r.slot, r.captured_at,
  found.rank,
  coalesce(r.absolute[found.rank], found.rank)::integer as absolute_rank, r.depth, r.results_count,
  rank_outcome(found.rank, r.gap, r.reason) as outcome,
  r.reason, case when r.gap is null then k.check_url end as check_url, k.every, k.target_id, a.app
from list_period k
cross join lateral (
  select h.slot, h.captured_at, h.gap, h.reason, h.depth, h.results_count, h.app_ids, h.absolute, k.store
  from ranking_row h
  where h.target_id = k.target_id and case
    when is_shown(k.every, k.first_slot, null, null, h.slot, h.gap) then true
    else exists (
      select from watch_period p
      where p.target_id = k.target_id and p.project = k.project
        and is_shown(p.every, p.first_slot, p.last_slot, p.ended_at, h.slot, h.gap)
      offset 0
    ) end
  order by h.slot desc
  limit 1
) r
left join project_app a on a.project = k.project and a.store = k.store and case
  when a.store = r.store then true else false end and a.ended_at is null
cross join lateral (select array_position(r.app_ids, a.app) as rank offset 0) found
where k.ended_at is null and case when a.app is null then false else true end;
comment on view rank_latest is
  'The rank at the latest closed slot, of the keywords, charts and apps that are followed now: never an '
  'older rank in place of a gap, never a pending one.';
comment on column rank_latest.project is 'The project.';
comment on column rank_latest.store is 'ios_store or android_store.';
comment on column rank_latest.list is 'keyword or chart.';
comment on column rank_latest.keyword is 'The keyword, as it was watched; null for a chart.';
comment on column rank_latest.collection is 'The collection of a chart; null for a keyword.';
comment on column rank_latest.category is
  'The category of a chart; null for a keyword, and for all of the collection.';
comment on column rank_latest.location is
  'The name of the location; its code until the references are loaded.';
comment on column rank_latest.location_code is 'The code of the location at the service.';
comment on column rank_latest.language is 'The language code.';
comment on column rank_latest.tags is
  'The tags of the watch on it, as they are now; none when the watch is gone.';
comment on column rank_latest.weight is
  'What the keyword is worth beside the others, as its watch says now; 1 for a chart, and when the watch '
  'is gone.';
comment on column rank_latest.app_id is 'The id of the app in its store.';
comment on column rank_latest.title is 'The title of the app, as last seen; null until a result names it.';
comment on column rank_latest.label is 'What the project calls the app.';
comment on column rank_latest.role is 'own or competitor, as last said.';
comment on column rank_latest.day is 'The day of the slot in the time zone of the project.';
comment on column rank_latest.slot is 'When the measurement was due.';
comment on column rank_latest.captured_at is 'When it was measured; null unless it was.';
comment on column rank_latest.rank is 'The organic rank; null unless outcome is ranked.';
comment on column rank_latest.absolute_rank is
  'The rank when advertisements and bundles are counted too; null unless outcome is ranked.';
comment on column rank_latest.depth is 'How many ranks were asked for: "not in top" means not among these.';
comment on column rank_latest.results_count is 'How many results the store said that there are.';
comment on column rank_latest.outcome is
  'ranked; not_in_top (measured, and not within depth); failed (no result, or the app is not in what of '
  'it could be read); or without a measurement: budget, missed, html_only, pending.';
comment on column rank_latest.reason is
  'Why there is no measurement, when that is known, or what of it could not be read.';
comment on column rank_latest.check_url is
  'Where a person sees the same at the store, as the service said last; null where nothing was measured.';
comment on column rank_latest.every is 'How often it is asked for.';
comment on column rank_latest.target_id is 'The measured target: what ranking, task and charge call it.';
comment on column rank_latest.app is 'The app in the dictionary: app.id.';
grant select on rank_latest to storerank_editor, storerank_reader;
