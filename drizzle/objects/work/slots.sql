-- A slot is the instant at which a measurement is due: `every` cuts the time since Monday, 2001-01-01 into
-- slots. So every 7 days begins on Mondays, and all hours divide the UTC day.
--- The slot (the instant a measurement is due) that an instant belongs to.
create or replace function slot_of(every interval, at timestamptz) returns timestamptz
language sql immutable parallel safe
return date_bin(every, at, timestamptz '2001-01-01 00:00:00+00');

-- A day is 24 hours here, whatever the time zone of the session says.
--- When a slot is over, and the next one begins.
create or replace function slot_end(every interval, slot timestamptz) returns timestamptz
language sql immutable parallel safe
return (slot at time zone 'UTC' + every) at time zone 'UTC';

-- A slot that was still running when its period ended is not shown as missed: only another project may have
-- asked for it to its end. One `case`, which the planner takes for half of the rows. It takes a conjunction
-- of unknowns for one row in a thousand, and then chooses nested loops for everything else.
--- Whether a row of the history, by its slot and gap, belongs to what a watch period (its first four
--- arguments) asked for.
create or replace function is_shown(
  every interval, first_slot timestamptz, last_slot timestamptz, ended_at timestamptz, slot timestamptz,
  gap text
) returns boolean language sql immutable parallel safe
return case
  when slot < first_slot or slot > last_slot or slot_of(every, slot) <> slot then false
  when gap = 'missed' then slot_end(every, slot) <= coalesce(ended_at, 'infinity')
  else true
end;

--- What a measurement (its gap and reason) says of an app at this rank, or not found: ranked; not_in_top;
--- failed, where it could be read in part; or the gap.
create or replace function rank_outcome(rank integer, gap text, reason text) returns text
language sql immutable parallel safe
return case when gap is not null then gap when rank is not null then 'ranked' when reason
  is not null then 'failed'
  else 'not_in_top' end;

create or replace function utc_second(at timestamptz) returns text language sql stable parallel safe
return to_char(at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS "UTC"');

create or replace function utc_minute(at timestamptz) returns text language sql stable parallel safe
return to_char(at at time zone 'UTC', 'YYYY-MM-DD HH24:MI "UTC"');
