-- An app that left the project is shown up to then. array_position stands behind an optimization fence, so
-- that it is evaluated once a row; `any` finds at half its cost that an app is not there. What decides
-- whether a slot is shown stands there too: a condition of the join is planned once for each partition. The
-- stores are compared by a case, because the planner would join by an equation.
--- The rank of every app of a project on every keyword and chart of the project, at every slot that was asked
--- for. An app that is added today has its history at once. A filter on day alone reads the whole history:
--- filter by slot, or ask rank_daily(project, from, to).
create or replace view rank_history as
-- <history>
select p.project, {{list p}}, {{app a}}, (r.slot at time zone p.timezone)::date as day, r.slot, r.captured_at,
  found.rank, coalesce(r.absolute[found.rank], found.rank)::integer as absolute_rank, r.depth,
  r.results_count, rank_outcome(found.rank, r.gap, r.reason) as outcome, r.reason,
  case when r.gap is null then p.check_url end as check_url, p.every, p.target_id, a.app, null::text as source
from list_period p
join ranking_row r on r.target_id = p.target_id
join project_app a on a.project = p.project and case when a.store = p.store then true else false end
join lateral (
  select r.slot < coalesce(a.ended_at, 'infinity') and {{shown p r}} as is_shown,
    case when a.app = any(r.app_ids) then array_position(r.app_ids, a.app) end as rank
  offset 0
) found on found.is_shown
-- </history>
union all
select p.project, {{list p}}, {{app a}}, (s.slot at time zone p.timezone)::date, s.slot, null, null, null,
  null, null, 'pending', null, null, p.every, p.target_id, a.app, null
from pending_ranking s
join list_period p on p.period_id = s.period_id
join project_app a on a.project = p.project and a.store = p.store
  and s.slot < coalesce(a.ended_at, 'infinity')
union all
select i.project, i.store, 'keyword', i.keyword, null, null, i.location, i.location_code, i.language, i.tags,
  i.weight, {{app i}}, i.day, i.slot, null, i.rank, null, null, null, 'imported', null, null, null,
  i.target_id, i.app, i.source
from imported_history i;
