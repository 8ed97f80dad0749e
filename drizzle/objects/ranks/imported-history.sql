-- Only of apps that the project watches or watched, as in rank_history.
--- Ranks that another tool measured, as `storerank import history` brought them in: part of rank_history.
--- Nothing counts them as measured. To remove them: delete from imported_rank where source = …
--- .slot: The begin of the day in the time zone of the project.
create or replace view imported_history as
select i.project, t.store, t.subject as keyword,
  coalesce((select l.name from location l where l.store = t.store and l.code = t.location_code),
    t.location_code::text) as location, t.location_code, t.language_code as language,
  coalesce(w.tags, '{}') as tags, coalesce(w.weight, 1) as weight, {{app a}}, i.day,
  i.day::timestamp at time zone p.timezone as slot, i.rank::integer as rank, i.source, i.target_id, i.app
from imported_rank i
join project p on p.name = i.project
join target t on t.id = i.target_id
join project_app a on a.project = i.project and a.app = i.app
left join lateral (
  select w.tags, w.weight from list_watch w where w.project = i.project and w.target_id = i.target_id
) w on true;
