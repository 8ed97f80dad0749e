-- What the coordinator's second session asks Citus: `ranking` joined at the top level with reference tables,
-- so that the workers do all of it, and send what is asked for instead of all apps. distributed_slot and
-- distributed_rank are the foreign tables of these views: conditions on any column go to the workers.
create or replace view distributed_slot_query as
select j.name as project, l.store, l.list, l.keyword, l.collection, l.category, l.location_code, l.language,
  r.target_id, r.slot, r.captured_at, r.gap, r.reason, r.depth, r.results_count, r.app_ids, r.absolute
from ranking r
join distributed_list l on l.target_id = r.target_id
join distributed_project j on j.id = l.project_id;

create or replace view distributed_rank_query as
select j.name as project, l.store, l.list, l.keyword, l.collection, l.category, l.location_code, l.language,
  r.target_id, r.slot, r.captured_at, r.gap, r.reason, r.depth, r.results_count, a.app, a.app_id,
  case when a.app = any(r.app_ids) then array_position(r.app_ids, a.app) end as rank,
  r.absolute[array_position(r.app_ids, a.app)] as absolute_rank
from ranking r
join distributed_list l on l.target_id = r.target_id
join distributed_project j on j.id = l.project_id
join distributed_app a on a.project_id = l.project_id and a.store = l.store;
