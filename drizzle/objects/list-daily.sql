-- The bounds of `slot` are those of the days in whichever time zone, so that they are constants, by which partitions are pruned.
create or replace function list_daily(in_project text, from_day date, to_day date)
returns table (
  day date, store text, list text, keyword text, collection text, category text, location text, location_code integer,
  language text, tags text[], weight double precision, slot timestamptz, captured_at timestamptz, gap text, reason text, depth smallint,
  results_count bigint, check_url text, app_ids integer[], absolute smallint[], every interval, target_id integer
) language sql stable parallel safe
begin atomic
  select s.day, s.store, s.list, s.keyword, s.collection, s.category, s.location, s.location_code, s.language, s.tags, s.weight, s.slot, s.captured_at, s.gap, s.reason, s.depth, s.results_count, s.check_url, s.app_ids, s.absolute,
    s.every, s.target_id
  from ranking_slot s
  where s.project = in_project and s.day between from_day and to_day
    and s.slot >= (from_day - 1)::timestamp at time zone 'UTC' and s.slot < (to_day + 2)::timestamp at time zone 'UTC'
    and s.is_last_of_day
  union all
  select (d.slot at time zone p.timezone)::date, p.store, p.list, p.keyword, p.collection, p.category, p.location, p.location_code, p.language, p.tags, p.weight, d.slot, null, 'pending', null, null, null, null, null, null, p.every,
    p.target_id
  from (
    select distinct on (s.target_id, (s.slot at time zone p.timezone)::date) s.period_id, s.slot
    from pending_slot s
    join list_period p on p.period_id = s.period_id
    where s.project = in_project and s.slot >= (from_day - 1)::timestamp at time zone 'UTC' and s.slot < (to_day + 2)::timestamp at time zone 'UTC'
      and not exists (
        select from ranking_slot o
        where o.project = in_project and o.target_id = s.target_id
          and o.day = (s.slot at time zone p.timezone)::date
          and o.slot between s.slot - interval '26 hours' and s.slot + interval '26 hours'
        offset 0
      )
    order by s.target_id, (s.slot at time zone p.timezone)::date, s.slot desc
  ) d
  join list_period p on p.period_id = d.period_id
  where p.project = in_project and (d.slot at time zone p.timezone)::date between from_day and to_day;
end;
comment on function list_daily(text, date, date) is
  'What each keyword and chart of a project showed on each day of the project: its last measurement, with all apps by rank; where a day has none its last gap; pending where nothing of the day is over. Reads the partitions of the range alone.';
