-- A gap is never a drop and never filled with an older rank. An app that left the project is shown up to
-- then. array_position stands behind `offset 0`, so that it is evaluated once a row; `any` finds at half its
-- cost that an app is not there. What decides whether a slot is shown stands there too: a condition of the
-- join is planned once for each partition, which was a sixth of what one keyword's year costs in a history of
-- ten years. The stores are compared by a case, because the planner would join by an equation.
create or replace view rank_history as
select p.project, p.store, p.list, p.keyword, p.collection, p.category, p.location, p.location_code,
  p.language, p.tags, p.weight,
  a.app_id, a.title, a.label, a.role, (r.slot at time zone p.timezone)::date as day, r.slot, r.captured_at,
  found.rank,
  coalesce(r.absolute[found.rank], found.rank)::integer as absolute_rank, r.depth, r.results_count,
  rank_outcome(found.rank, r.gap, r.reason) as outcome,
  r.reason, case when r.gap is null then p.check_url end as check_url, p.every, p.target_id, a.app
from list_period p
join ranking_row r on r.target_id = p.target_id
join project_app a on a.project = p.project
  and case when a.store = p.store then true else false end
join lateral (
  select r.slot < coalesce(a.ended_at, 'infinity')
    and is_shown(p.every, p.first_slot, p.last_slot, p.ended_at, r.slot, r.gap) as is_shown,
    case when a.app = any(r.app_ids) then array_position(r.app_ids, a.app) end as rank
  offset 0
) found on found.is_shown
union all
select p.project, p.store, p.list, p.keyword, p.collection, p.category, p.location, p.location_code,
  p.language, p.tags, p.weight,
  a.app_id, a.title, a.label, a.role, (s.slot at time zone p.timezone)::date, s.slot, null, null, null, null,
  null, 'pending', null,
  null, p.every, p.target_id, a.app
from pending_ranking s
join list_period p on p.period_id = s.period_id
join project_app a on a.project = p.project and a.store = p.store
  and s.slot < coalesce(a.ended_at, 'infinity');
comment on view rank_history is
  'The rank of every app of a project on every keyword and chart of the project, at every slot that was '
  'asked for. An app that is added today has its history at once. A filter on day alone reads the whole '
  'history: filter by slot, or ask rank_daily(project, from, to).';
comment on column rank_history.project is 'The project.';
comment on column rank_history.store is 'ios_store or android_store.';
comment on column rank_history.list is 'keyword or chart.';
comment on column rank_history.keyword is 'The keyword, as it was watched; null for a chart.';
comment on column rank_history.collection is 'The collection of a chart; null for a keyword.';
comment on column rank_history.category is
  'The category of a chart; null for a keyword, and for all of the collection.';
comment on column rank_history.location is
  'The name of the location; its code until the references are loaded.';
comment on column rank_history.location_code is 'The code of the location at the service.';
comment on column rank_history.language is 'The language code.';
comment on column rank_history.tags is
  'The tags of the watch on it, as they are now; none when the watch is gone.';
comment on column rank_history.weight is
  'What the keyword is worth beside the others, as its watch says now; 1 for a chart, and when the watch '
  'is gone.';
comment on column rank_history.app_id is 'The id of the app in its store.';
comment on column rank_history.title is 'The title of the app, as last seen; null until a result names it.';
comment on column rank_history.label is 'What the project calls the app.';
comment on column rank_history.role is 'own or competitor, as last said.';
comment on column rank_history.day is 'The day of the slot in the time zone of the project.';
comment on column rank_history.slot is 'When the measurement was due.';
comment on column rank_history.captured_at is 'When it was measured; null unless it was.';
comment on column rank_history.rank is 'The organic rank; null unless outcome is ranked.';
comment on column rank_history.absolute_rank is
  'The rank when advertisements and bundles are counted too; null unless outcome is ranked.';
comment on column rank_history.depth is 'How many ranks were asked for: "not in top" means not among these.';
comment on column rank_history.results_count is 'How many results the store said that there are.';
comment on column rank_history.outcome is
  'ranked; not_in_top (measured, and not within depth); failed (no result, or the app is not in what of '
  'it could be read); or without a measurement: budget, missed, html_only, pending.';
comment on column rank_history.reason is
  'Why there is no measurement, when that is known, or what of it could not be read.';
comment on column rank_history.check_url is
  'Where a person sees the same at the store, as the service said last; null where nothing was measured.';
comment on column rank_history.every is 'How often it was asked for at the time.';
comment on column rank_history.target_id is 'The measured target: what ranking, task and charge call it.';
comment on column rank_history.app is 'The app in the dictionary: app.id.';
grant select on rank_history to storerank_editor, storerank_reader;
