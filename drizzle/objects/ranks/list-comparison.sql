-- By slots, where compared_ranks goes by days. Each time is read by the ids of all lists at once, which is
-- one query where the history is distributed. The planner takes such a set for a handful of rows: of many
-- lists it is asked where nested loops are off, as in rank_comparison.
--- The keywords and charts of a project that were due on the day of a slot (in its time zone, up to the slot)
--- and in_back before: the last measurement of that day, and the one exactly in_back before it, with all apps
--- by rank. What was not measured is null; is_complete and was_complete say whether all of a measurement
--- could be read. With a tag, of what has it; with in_targets, of these alone.
create or replace function list_comparison(
  in_project text, in_slot timestamptz, in_back interval default '24 hours', in_tag text default null,
  in_targets integer[] default null
) returns table (
  store text, list text, tags text[], weight double precision, slot timestamptz, slot_before timestamptz,
  depth smallint, depth_before smallint, is_complete boolean, was_complete boolean, app_ids integer[],
  app_ids_before integer[], target_id integer
) {{begin}}
  with day as (
    select date_trunc('day', in_slot, j.timezone) as begins_at from project j where j.name = in_project
  ), period as materialized (
    select p.kind, p.watch_id, p.target_id, p.every, p.first_slot, p.last_slot, p.ended_at,
      slot_of(p.every, in_slot) as slot, slot_of(p.every, in_slot) - in_back as slot_before
    from watch_period p
    where p.project = in_project and p.kind in ('keyword', 'chart')
      and (in_targets is null or p.target_id = any(in_targets))
  ), due as (
    select t.store, p.kind, coalesce(k.tags, c.tags, '{}') as tags, coalesce(k.weight, 1) as weight,
      p.target_id, slot_end(p.every, p.slot) <= coalesce(p.ended_at, 'infinity') as is_owed
    from period p
    join target t on t.id = p.target_id
    left join keyword_watch k on p.kind = 'keyword' and k.id = p.watch_id
    left join chart_watch c on p.kind = 'chart' and c.id = p.watch_id
    where p.slot >= (select begins_at from day)
      and p.slot between p.first_slot and coalesce(p.last_slot, 'infinity')
      and p.slot_before = slot_of(p.every, p.slot_before)
      and case when p.slot_before >= p.first_slot then true else exists (
        select from watch_period q
        where q.target_id = p.target_id and q.project = in_project
          and p.slot_before between q.first_slot and q.last_slot
      ) end
      and (in_tag is null or in_tag = any(coalesce(k.tags, c.tags)))
  ), measured as (
    select distinct on (r.target_id) r.target_id, r.slot, r.depth, r.reason, r.app_ids
    from ranking_row r
    where r.target_id = any(array(select target_id from due)) and r.gap is null
      and r.slot >= (select begins_at from day) and r.slot <= in_slot
    order by r.target_id, r.slot desc
  ), past as (
    select r.target_id, r.slot, r.depth, r.reason, r.app_ids
    from ranking_row r
    where r.target_id = any(array(select target_id from due)) and r.gap is null
      and r.slot >= (select begins_at from day) - in_back and r.slot <= in_slot - in_back
  )
  select d.store, d.kind, d.tags, d.weight, m.slot, b.slot, m.depth, b.depth,
    m.slot is not null and m.reason is null, b.slot is not null and b.reason is null, m.app_ids, b.app_ids,
    d.target_id
  from due d
  left join measured m on m.target_id = d.target_id
  left join past b on b.target_id = d.target_id and b.slot = m.slot - in_back
  where m.slot is not null or d.is_owed;
end;

-- `any` finds that an app is not there in half the time of array_position.
--- The apps of a project on the lists of list_comparison, at both times: one line for each app that is ranked
--- at either and of which the other is known, and a line without an app for each list. change is how many
--- ranks it climbed, negative when it fell, and at least so many where one time did not find it. Where both
--- times were measured whole (is_compared), worth is weight × weight(rank) by a curve of rank_weight, to the
--- depth of both; in the line of the list, of all its places. That line has the first in_top apps of both
--- times too.
create or replace function rank_comparison(
  in_project text, in_slot timestamptz, in_back interval default '24 hours', in_top integer default 10,
  in_curve text default 'reciprocal', in_tag text default null, in_targets integer[] default null
) returns table (
  store text, list text, tags text[], weight double precision, app_id text, role text, slot timestamptz,
  slot_before timestamptz, rank integer, rank_before integer, depth smallint, depth_before smallint,
  change integer, is_compared boolean, worth double precision, worth_before double precision,
  top_apps integer[], top_apps_before integer[], target_id integer, app integer
) language sql stable parallel safe rows 10000 set enable_nestloop = off
begin atomic
  with curve as materialized (select * from rank_weights(in_curve))
  select l.store, l.list, l.tags, l.weight, a.app_id, a.role, l.slot, l.slot_before, f.rank, f.rank_before,
    l.depth, l.depth_before,
    rank_climb(f.rank_before, case when f.rank_before is null then 'not_in_top' else 'ranked' end,
      l.depth_before, f.rank, case when f.rank is null then 'not_in_top' else 'ranked' end, l.depth),
    l.is_compared,
    l.compared_weight * case
      when a.app is null then places_worth(l.app_ids[:l.common_depth], w.weights, w.totals)
      when f.rank <= l.common_depth then w.weights[f.rank] end,
    l.compared_weight * case
      when a.app is null then places_worth(l.app_ids_before[:l.common_depth], w.weights, w.totals)
      when f.rank_before <= l.common_depth then w.weights[f.rank_before] end,
    case when a.app is null then l.app_ids[:in_top] end,
    case when a.app is null then l.app_ids_before[:in_top] end, l.target_id, a.app
  from (
    select c.*, least(c.depth, c.depth_before) as common_depth,
      c.is_complete and c.was_complete as is_compared,
      case when c.is_complete and c.was_complete then c.weight end as compared_weight
    from list_comparison(in_project, in_slot, in_back, in_tag, in_targets) c
  ) l
  cross join curve w
  cross join lateral (
    select a.app, a.app_id, a.role from project_apps(in_project) a
    where a.store = l.store and a.ended_at is null
    union all
    select null, null, null
  ) a
  cross join lateral (
    select case when a.app = any(l.app_ids) then array_position(l.app_ids, a.app) end as rank,
      case when a.app = any(l.app_ids_before) then array_position(l.app_ids_before, a.app) end as rank_before
    offset 0
  ) f
  where a.app is null or (f.rank is not null or f.rank_before is not null)
    and (f.rank is not null or l.is_complete) and (f.rank_before is not null or l.was_complete);
end;
