-- What the present watches will cost. A slot is bought once, at the greatest depth and priority that is asked
-- for, and those who ask share its price, as the plan does it (`admission` in src/plan): only budgets and
-- refunds are not known beforehand.

-- `strict`, so that the function is not inlined and the planner uses `rows`: of generate_series it would
-- expect 1,000 slots a period. Without a time zone, because in one a day may have 23 hours.
create or replace function slots_in(every interval, first_at timestamptz, last_at timestamptz)
returns setof timestamptz language sql immutable strict parallel safe rows 1
begin atomic
  select c.slot
  from generate_series(slot_of(every, first_at) at time zone 'UTC', last_at at time zone 'UTC', every) s
  cross join lateral (select s at time zone 'UTC' as slot) c
  where c.slot >= first_at and c.slot < last_at;
end;

-- Most targets are asked for by one watch, or by several with the same interval: then all of its slots cost
-- the same and are counted. Only where the intervals differ is each slot looked at.
--- What each watch will cost in the slots that begin in a span of time, or would with another interval, depth
--- or priority of those of a project or with a tag. A line is for all slots of a watch, or, where watches
--- with several intervals share a target, for one. A task costs price_micros, the watch pays share_micros of
--- it, and without sharing alone_micros; is_first counts each task once.
create or replace function forecast_lines(
  first_at timestamptz, last_at timestamptz, change_every interval default null,
  change_depth integer default null, change_priority integer default null, of_project text default null,
  of_tag text default null
) returns table (
  period_id bigint, project_id integer, project text, tags text[], is_chosen boolean, target_id integer,
  store text, function text, every interval, depth smallint, priority smallint, slot timestamptz,
  slots bigint, price_micros bigint, share_micros bigint, alone_micros bigint, is_first boolean
) language sql stable security definer set search_path = public, pg_temp
begin atomic
  with asked as (
    select p.id as period_id, r.id as project_id, p.project, w.tags, chosen.yes as is_chosen, p.target_id,
      t.store, t.function,
      case when chosen.yes then coalesce(change_every, p.every) else p.every end as every,
      case when chosen.yes and change_depth is not null and p.kind in ('keyword', 'chart')
        then least(change_depth, case when t.store = 'android_store' then 200
          when p.kind = 'chart' then 1000 else 700 end)::smallint else p.depth end as depth,
      coalesce(case when chosen.yes then change_priority end::smallint, p.priority) as priority,
      case when chosen.yes and change_every is not null then first_at
        else greatest(p.first_slot, first_at) end as begins_at
    from watch_period p join project r on r.name = p.project join target t on t.id = p.target_id
    left join keyword_watch k on p.kind = 'keyword' and k.id = p.watch_id
    left join chart_watch c on p.kind = 'chart' and c.id = p.watch_id
    left join app_watch a on p.kind in ('app', 'reviews') and a.id = p.watch_id
    cross join lateral (select coalesce(k.tags, c.tags, a.tags, '{}') as tags) w
    cross join lateral (
      select coalesce(p.project = of_project, true) and (of_tag is null or of_tag = any(w.tags)) as yes
    ) chosen
    where p.ended_at is null
  ), alike as (
    select target_id, min(every) = max(every) and max(begins_at) = first_at as yes from asked group by 1
  ), measured as materialized (
    select a.*, null::timestamptz as slot, n.slots
    from asked a join alike using (target_id)
    cross join lateral (
      select (ceil((extract(epoch from last_at) - 978307200) / extract(epoch from a.every))
        - ceil((extract(epoch from first_at) - 978307200) / extract(epoch from a.every)))::bigint as slots
    ) n
    where alike.yes
    union all
    select a.*, s.slot, 1
    from asked a join alike using (target_id)
    cross join lateral slots_in(a.every, a.begins_at, last_at) s (slot)
    where not alike.yes
  ), priced as (
    select m.*, row_number() over shared as place, count(*) over bought as payers,
      task_price(max(m.depth) over bought, own.unit_results, case max(m.priority) over bought
        when 2 then high.unit_micros else normal.unit_micros end) as price_micros,
      task_price(m.depth, own.unit_results, own.unit_micros) as alone_micros
    from measured m
    join unit_price own on (own.store, own.function, own.priority) = (m.store, m.function, m.priority)
    join unit_price normal on (normal.store, normal.function, normal.priority) = (m.store, m.function, 1)
    join unit_price high on (high.store, high.function, high.priority) = (m.store, m.function, 2)
    window bought as (partition by m.target_id, m.slot),
      shared as (partition by m.target_id, m.slot order by m.project_id)
  )
  select period_id, project_id, project, tags, is_chosen, target_id, store, function, every, depth, priority,
    slot, slots, price_micros, share_of(price_micros, payers::integer, place), alone_micros, place = 1
  from priced;
end;
