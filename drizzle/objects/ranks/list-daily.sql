--- Whether what has these tags and is of this location is asked for by a tag and a location; null asks for
--- all.
create or replace function is_of(tags text[], location text, in_tag text, in_location text) returns boolean
  language sql immutable parallel safe
return (in_tag is null or in_tag = any(tags)) and (in_location is null or in_location = location);

-- In PL/pgSQL and at no cost, so that the planner does not count it for every row: it is called for few.
--- Whether a project has another slot of a target on the same day as in_slot that counts for the day instead:
--- one that is measured where this one is not, or else one after in_after.
create or replace function is_outdone(
  in_project text, in_timezone text, in_target integer, in_day date, in_slot timestamptz,
  in_is_measured boolean, in_after timestamptz
) returns boolean language plpgsql stable parallel safe cost 1 as $$
begin
  return exists (
    select from public.ranking_row o
    where o.target_id = in_target and o.slot > in_slot - interval '26 hours'
      and o.slot < in_slot + interval '26 hours'
      and (o.slot at time zone in_timezone)::date = in_day
      and (o.gap is null, o.slot) > (in_is_measured, in_after)
      and exists (
        select from public.asked_period q
        where q.target_id = in_target and q.project = in_project
          and public.is_shown(q.every, q.first_slot, q.last_slot, q.ended_at, o.slot, o.gap)
      )
  );
end $$;

-- The interval is compared in `case`, so that the history is joined with lists and slots one after the other:
-- else all lists are joined with all slots.
--
-- Whether another slot counts for the day instead is asked of the history only where there may be one: where
-- the interval has another slot on the day (after a measurement a later one, beside a gap any), or another
-- period of the project on the same target is near.
--- What each keyword and chart of a project showed on each day of the project: its last measurement, with all
--- apps by rank; where a day has none its last gap; pending where nothing of the day is over. Reads the
--- partitions of the range alone.
create or replace function list_daily({{days}}) returns table (
  day date, {{list}}, slot timestamptz, captured_at timestamptz, gap text, reason text, depth smallint,
  results_count bigint, check_url text, app_ids integer[], absolute smallint[], every interval,
  target_id integer, paid_ids integer[], paid_places smallint[]
) {{begin}}
  with lists as (
    select * from project_lists(in_project)
  ), slots as (
    select * from project_slots(in_project, from_day, to_day)
  )
  select c.day, {{list p}}, r.slot, r.captured_at, r.gap, r.reason, r.depth, r.results_count,
    case when r.gap is null then p.check_url end, r.app_ids, r.absolute,
    p.every, r.target_id, r.paid_ids, r.paid_places
  from ranking_row r
  join lists p on p.target_id = r.target_id
  join slots c on c.slot = r.slot and case when c.every = p.every then true else false end
  where {{in_days r.slot}} and case
      when r.slot < p.first_slot or r.slot > p.last_slot or r.gap = 'missed'
        and slot_end(p.every, r.slot) > p.ended_at then false
      when (c.is_only or c.is_last and r.gap is null) and r.slot > p.alone_from
        and r.slot < p.alone_to then true
      else not is_outdone(in_project, p.timezone, r.target_id, c.day, r.slot, r.gap is null, r.slot) end
  union all
  select * from (
    select distinct on (s.target_id, c.day) c.day, {{list p}}, s.slot, null::timestamptz, 'pending', null,
      null::smallint, null::bigint, null, null::integer[], null::smallint[], p.every, s.target_id,
      null::integer[], null::smallint[]
    from pending_rankings(in_project, from_day, to_day) s
    join lists p on p.period_id = s.period_id
    join slots c on c.slot = s.slot and case when c.every = p.every then true else false end
    where case when c.is_only and s.slot > p.alone_from and s.slot < p.alone_to then true
        else not is_outdone(in_project, p.timezone, s.target_id, c.day, s.slot, false, '-infinity') end
    order by s.target_id, c.day, s.slot desc
  ) pending;
end;
