-- In PL/pgSQL and at no cost, so that the planner does not count it for every row: it is called for few.
create or replace function is_outdone(
  in_project text, in_timezone text, in_target integer, in_day date, in_slot timestamptz, in_is_measured boolean, in_after timestamptz
) returns boolean language plpgsql stable parallel safe cost 1 as $$
begin
  return exists (
    select from public.ranking_row o
    where o.target_id = in_target and o.slot > in_slot - interval '26 hours' and o.slot < in_slot + interval '26 hours'
      and (o.slot at time zone in_timezone)::date = in_day and (o.gap is null, o.slot) > (in_is_measured, in_after)
      and exists (
        select from (select * from public.asked_period t where t.target_id = in_target offset 0) q
        where q.project = in_project
          and public.is_shown(q.every, q.first_slot, q.last_slot, q.ended_at, o.slot, o.gap)
      )
  );
end $$;
comment on function is_outdone(text, text, integer, date, timestamptz, boolean, timestamptz) is
  'Whether a project has another slot of a target on the same day as in_slot that counts for the day instead: one that is measured where this one is not, or else one after in_after.';

-- The bounds of `slot` with UTC hold the days of whichever time zone: constants, by which partitions are pruned.
--
-- Whether another slot counts for the day instead is asked of the history only where there may be one: where the next slot is of the
-- same day too, in the last days of a period, and of a gap, which an earlier measurement of the day goes before.
create or replace function list_daily(in_project text, from_day date, to_day date)
returns table (
  day date, store text, list text, keyword text, collection text, category text, location text, location_code integer,
  language text, tags text[], weight double precision, slot timestamptz, captured_at timestamptz, gap text, reason text, depth smallint,
  results_count bigint, check_url text, app_ids integer[], absolute smallint[], every interval, target_id integer
) language sql stable parallel safe
begin atomic
  select d.day, p.store, p.list, p.keyword, p.collection, p.category, p.location, p.location_code, p.language, p.tags, p.weight, r.slot, r.captured_at, r.gap, r.reason, r.depth, r.results_count, r.check_url, r.app_ids, r.absolute,
    p.every, r.target_id
  from project_lists(in_project) p
  join ranking_row r on r.target_id = p.target_id and is_shown(p.every, p.first_slot, p.last_slot, p.ended_at, r.slot, r.gap)
  cross join lateral (
    select (r.slot at time zone p.timezone)::date as day, (slot_end(p.every, r.slot) at time zone p.timezone)::date as next_day offset 0
  ) d
  where r.slot >= (from_day - 1)::timestamp at time zone 'UTC' and r.slot < (to_day + 2)::timestamp at time zone 'UTC'
    and d.day between from_day and to_day
    and case when r.gap is null and p.ended_at is null and d.next_day > d.day then true
      else not is_outdone(in_project, p.timezone, r.target_id, d.day, r.slot, r.gap is null, r.slot) end
  union all
  select * from (
    select distinct on (s.target_id, d.day) d.day, p.store, p.list, p.keyword, p.collection, p.category, p.location, p.location_code, p.language, p.tags, p.weight, s.slot, null::timestamptz,
      'pending', null, null::smallint, null::bigint, null, null::integer[], null::smallint[], p.every, s.target_id
    from pending_slot s
    join project_lists(in_project) p on p.period_id = s.period_id
    cross join lateral (select (s.slot at time zone p.timezone)::date as day offset 0) d
    where s.project = in_project and d.day between from_day and to_day
      and s.slot >= (from_day - 1)::timestamp at time zone 'UTC' and s.slot < (to_day + 2)::timestamp at time zone 'UTC'
      and not is_outdone(in_project, p.timezone, s.target_id, d.day, s.slot, false, '-infinity')
    order by s.target_id, d.day, s.slot desc
  ) pending;
end;
comment on function list_daily(text, date, date) is
  'What each keyword and chart of a project showed on each day of the project: its last measurement, with all apps by rank; where a day has none its last gap; pending where nothing of the day is over. Reads the partitions of the range alone.';
