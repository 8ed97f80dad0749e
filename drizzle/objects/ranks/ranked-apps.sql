create or replace view ranked_apps as
select p.project, {{list p}}, (r.slot at time zone p.timezone)::date as day, r.slot, r.captured_at,
  found.rank::integer as rank, coalesce(r.absolute[found.rank], found.rank)::integer as absolute_rank,
  a.app_id, a.title, a.developer, r.depth, p.target_id, a.id as app
from list_period p
join ranking_row r on r.target_id = p.target_id
  and is_shown(p.every, p.first_slot, p.last_slot, p.ended_at, r.slot, r.gap)
cross join lateral unnest(r.app_ids) with ordinality found (app, rank)
join app a on a.id = found.app;
comment on view ranked_apps is
  'Every app of every measurement of a project''s keywords and charts, watched or not. A filter on day alone '
  'reads the whole history: filter by slot.';
comment on column ranked_apps.rank is 'The organic rank.';
comment on column ranked_apps.absolute_rank is 'The rank when advertisements and bundles are counted too.';
