--- The history of searches and charts as it is stored, whoever asked for it: a measurement with all its apps,
--- or a gap.
create or replace view ranking_row as
select r.target_id, r.slot, r.captured_at, r.gap, r.reason, r.depth, r.results_count, r.app_ids, r.absolute,
  r.paid_ids, r.paid_places
from ranking r;
