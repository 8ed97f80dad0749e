-- The heaviest keyword that is left takes all that are left and near it, until none is left: a chain of
-- keywords, each near the next one, is not one cluster.
--- Keywords that the store answers alike: of one store, location and language, each beside a heavier one
--- (cluster) with which it has 4 (or in_common) of the first 10 (or in_top) apps in common, by the last
--- measurement of a range of days. common is how many; own_rank the best own app. {{filter}}
create or replace function clusters(
  {{days}}, in_top integer default 10, in_common integer default 4, {{tagged}}
) returns table (
  cluster text, {{keyword}}, is_head boolean, common integer, cluster_keywords integer,
  cluster_weight double precision, own_rank integer, target_id integer, head_target_id integer
) {{begin}}
  with recursive measured as (
    select e.*, e.last_ids[:in_top] as top from list_ends(in_project, from_day, to_day, in_tag, in_location) e
    where e.list = 'keyword'
  ), place as (
    select m.target_id, m.store, m.location_code, m.language, h.app
    from measured m cross join lateral unnest(m.top) h (app) where h.app > 0
  ), near as materialized (
    select p.target_id, array_agg(p.other) as others from (
      select a.target_id, b.target_id as other from place a
      join place b on b.app = a.app and b.store = a.store and b.location_code = a.location_code
        and b.language is not distinct from a.language and b.target_id <> a.target_id
      group by a.target_id, b.target_id having count(*) >= in_common
    ) p
    group by p.target_id
  ), step as (
    select null::integer as head, '{}'::integer[] as taken,
      array(select m.target_id from measured m order by m.weight desc, m.keyword, m.target_id) as remaining
    union all
    select s.remaining[1], t.taken, array(
      select u.id from unnest(s.remaining) with ordinality u (id, n)
      where u.id <> s.remaining[1] and u.id <> all(t.taken) order by u.n
    )
    from step s
    cross join lateral (
      select array(
        select o.id from near n cross join unnest(n.others) o (id)
        where n.target_id = s.remaining[1] and o.id = any(s.remaining)
      ) as taken
    ) t
    where cardinality(s.remaining) > 0
  ), member as (
    select s.head, m.id from step s cross join lateral unnest(s.head || s.taken) m (id) where s.head > 0
  )
  select h.keyword, {{keyword k}},
    m.id = m.head, (select count(*) from unnest(k.top) t (app) where t.app = any(h.top))::integer,
    count(*) over c::integer, sum(k.weight) over c,
    (select min(array_position(k.last_ids, a.app)) from project_apps(in_project) a where a.role = 'own'),
    m.id, m.head
  from member m
  join measured k on k.target_id = m.id
  join measured h on h.target_id = m.head
  window c as (partition by m.head);
end;
