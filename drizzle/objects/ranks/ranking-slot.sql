-- `ranking` is joined at the top, by target and slot: a filter on `slot` opens only the partitions that it
-- leaves.
--- Every slot of a keyword or chart of a project that is over: a measurement with all its apps, or a gap.
--- What is not over is in pending_slot. A filter on day alone reads the whole history: filter by slot, or ask
--- list_daily(project, from, to).
create or replace view ranking_slot as
select p.project, {{list p}}, (r.slot at time zone p.timezone)::date as day, r.slot, r.captured_at, r.gap,
  r.reason, r.depth, r.results_count,
  case when r.gap is null then p.check_url end as check_url, r.app_ids, r.absolute, p.every, p.target_id
from list_period p
join ranking_row r on r.target_id = p.target_id and {{shown p r}};
