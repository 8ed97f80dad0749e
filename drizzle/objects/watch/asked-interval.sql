-- The least and the greatest slot that there can be keep a range that is open at one end from being counted
-- out.
--- How often each project asks or asked for anything, and since when.
--- .last_slot: No slot is later.
create or replace view asked_interval as
select p.project, j.timezone, p.every, min(p.first_slot) as first_slot,
  storerank_now() + interval '31 days' as last_slot
from watch_period p
join project j on j.name = p.project
where p.target_id is not null
group by p.project, j.timezone, p.every;

-- Time zones are looked up once a slot here, and not once a slot of each list. `strict` for the same reason
-- as project_lists. `rows` of a year: with fewer the planner hashes the history and not the lists, with all
-- its arrays.
--- The slots of each interval at which a project asks or asked for anything, in a range of its days: the day,
--- and whether the slot is the last or the only one of the interval on it.
create or replace function project_slots({{days}})
returns table (slot timestamptz, every interval, day date, is_last boolean, is_only boolean)
language sql stable strict parallel safe rows 400
begin atomic
  select c.slot, c.every, c.day, c.next_day > c.day, c.next_day > c.day and c.previous_day < c.day
  from (
    select s at time zone 'UTC' as slot, i.every, (s at time zone 'UTC' at time zone i.timezone)::date as day,
      ((s + i.every) at time zone 'UTC' at time zone i.timezone)::date as next_day,
      ((s - i.every) at time zone 'UTC' at time zone i.timezone)::date as previous_day
    from asked_interval i
    cross join lateral generate_series(
      slot_of(i.every, greatest((from_day - 1) + timetz '00:00+00', i.first_slot)) at time zone 'UTC',
      least((to_day + 2) + timetz '00:00+00', i.last_slot) at time zone 'UTC', i.every) s
    where i.project = in_project
  ) c
  where c.day between from_day and to_day;
end;
