-- A slot is the instant at which a measurement is due: `every` cuts the time since Monday, 2001-01-01 into slots. So every
-- 7 days begins on Mondays, and all hours divide the UTC day.
create or replace function slot_of(every interval, at timestamptz) returns timestamptz
language sql immutable parallel safe
return date_bin(every, at, timestamptz '2001-01-01 00:00:00+00');
comment on function slot_of(interval, timestamptz) is 'The slot (the instant a measurement is due) that an instant belongs to.';

-- A day is 24 hours here, whatever the time zone of the session says.
create or replace function slot_end(every interval, slot timestamptz) returns timestamptz
language sql immutable parallel safe
return (slot at time zone 'UTC' + every) at time zone 'UTC';
comment on function slot_end(interval, timestamptz) is 'When a slot is over, and the next one begins.';

-- A slot that was still running when its period ended is not shown as missed: only another project may have asked for it to its end.
-- One `case`, which the planner takes for half of the rows. It takes a conjunction of unknowns for one row in a thousand,
-- and then chooses nested loops for everything else.
create or replace function is_shown(
  every interval, first_slot timestamptz, last_slot timestamptz, ended_at timestamptz, slot timestamptz, gap text
) returns boolean language sql immutable parallel safe
return case
  when slot < first_slot or slot > last_slot or slot_of(every, slot) <> slot then false
  when gap = 'missed' then slot_end(every, slot) <= coalesce(ended_at, 'infinity')
  else true
end;
comment on function is_shown(interval, timestamptz, timestamptz, timestamptz, timestamptz, text) is
  'Whether a row of the history, by its slot and gap, belongs to what a watch period (its first four arguments) asked for.';

-- Begins where the history of the period is not complete: at closed_to, or at its oldest task that has no result yet.
-- In PL/pgSQL so that the planner uses `rows`: it would take an inlined generate_series for 1,000 slots a period.
create or replace function pending_slots(
  kind text, target_id integer, every interval, first_slot timestamptz, last_slot timestamptz, ended_at timestamptz,
  closed_to timestamptz
) returns setof timestamptz
language plpgsql stable parallel safe rows 1 security definer set search_path = public, pg_temp as $$
declare
  open_since timestamptz := (
    select min(k.slot) from task k
    where k.target_id = pending_slots.target_id and k.state in ('planned', 'posting', 'posted')
  );
  due timestamptz := greatest(first_slot, slot_of(every, least(closed_to, open_since)));
  present timestamptz := storerank_now();
begin
  while due <= least(last_slot, present) and (ended_at is null or slot_end(every, due) <= ended_at) loop
    if kind in ('keyword', 'chart') then
      perform from ranking r where r.target_id = pending_slots.target_id and r.slot = due;
    else
      perform from app_snapshot s where s.target_id = pending_slots.target_id and s.slot = due;
    end if;
    if not found then
      return next due;
    end if;
    due := slot_end(every, due);
  end loop;
end $$;
comment on function pending_slots(text, integer, interval, timestamptz, timestamptz, timestamptz, timestamptz) is
  'The slots that a watch period asked for and the history has no row of: the current one, and older ones until they are closed.';
revoke execute on function
  pending_slots(text, integer, interval, timestamptz, timestamptz, timestamptz, timestamptz) from public;
grant execute on function
  pending_slots(text, integer, interval, timestamptz, timestamptz, timestamptz, timestamptz)
  to storerank_editor, storerank_reader;
