--- Every app of every measurement of a project's keywords and charts, watched or not. A filter on day alone
--- reads the whole history: filter by slot.
--- .rank: The organic rank.
--- .absolute_rank: The rank when advertisements and bundles are counted too.
create or replace view ranked_apps as
select s.project, {{list s}}, s.day, s.slot, s.captured_at, found.rank::integer as rank,
  coalesce(s.absolute[found.rank], found.rank)::integer as absolute_rank, a.app_id, a.title, a.developer,
  s.depth, s.target_id, a.id as app
from ranking_slot s
cross join lateral unnest(s.app_ids) with ordinality found (app, rank)
join app a on a.id = found.app;
