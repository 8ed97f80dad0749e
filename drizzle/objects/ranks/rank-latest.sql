-- The slot may belong to any period of the project: to one before `every` was changed, for example. It is a
-- lateral `limit 1`, because `distinct on` reads everything. A left join by the store of what was found,
-- where each row without an app is dropped again: the planner expects one app of a project, and would look
-- the latest slot up for each app on each list. Where a condition names apps it may.
--- The rank at the latest closed slot, of the keywords, charts and apps that are followed now: never an older
--- rank in place of a gap, never a pending one.
create or replace view rank_latest as
select k.project, {{list k}}, {{app a}}, (r.slot at time zone k.timezone)::date as day, r.slot, r.captured_at,
  found.rank, coalesce(r.absolute[found.rank], found.rank)::integer as absolute_rank, r.depth,
  r.results_count, rank_outcome(found.rank, r.gap, r.reason) as outcome,
  r.reason, case when r.gap is null then k.check_url end as check_url, k.every, k.target_id, a.app
from list_period k
cross join lateral (
  select h.slot, h.captured_at, h.gap, h.reason, h.depth, h.results_count, h.app_ids, h.absolute, k.store
  from ranking_row h
  where h.target_id = k.target_id and case
    when is_shown(k.every, k.first_slot, null, null, h.slot, h.gap) then true
    else {{asked k k.project h}} end
  order by h.slot desc
  limit 1
) r
left join project_app a on a.project = k.project and a.store = k.store and case
  when a.store = r.store then true else false end and a.ended_at is null
cross join lateral (select array_position(r.app_ids, a.app) as rank offset 0) found
where k.ended_at is null and case when a.app is null then false else true end;
