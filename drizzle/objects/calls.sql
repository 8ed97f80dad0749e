-- The call window: never more calls in any 60 seconds than allowed, nor more at once, over all runners.

-- How long a call has to wait, in milliseconds; 0: it may be made now. Permits are numbered in the order of their time, so the
-- window is full when the permit that stands as many numbers back as are allowed is younger than the window: one look-up, however
-- many calls there are. A permit of exactly one window ago still counts. Volatile, so that behind the lock of `call_window` it
-- sees what the last holder committed.
create or replace function call_wait(
  of_kind text, per_minute integer, at_once integer, call_window interval default '60.5 seconds'
) returns integer language plpgsql volatile as $$
declare
  present timestamptz := clock_timestamp();
  -- The account's own limit holds too, once it is known. It counts as 1 at least: with 0 no runner could read the account again.
  allowed integer := greatest(1, least(per_minute,
    (select u.calls_per_minute_limit from account_usage u order by u.fetched_at desc limit 1)));
  -- Limits per kind: spec: Limits (status, id_list); for tasks_ready our assumption.
  allowed_of_kind integer := case of_kind when 'tasks_ready' then 20 when 'id_list' then 10 when 'status' then 10 end;
  opens_at timestamptz;
begin
  select greatest(
    (select c.permit_at from api_call c
      where c.id = (select w.last_call_id from call_window w) - allowed + 1 and c.permit_at >= present - call_window),
    (select c.permit_at from api_call c
      where allowed_of_kind is not null and c.kind = of_kind and c.kind in ('tasks_ready', 'id_list', 'status')
        and c.permit_at >= present - call_window
      order by c.permit_at desc offset allowed_of_kind - 1 limit 1)
  ) + call_window into opens_at;
  if opens_at is not null then
    return greatest(1, ceil(extract(epoch from opens_at - present) * 1000));
  end if;
  -- The end of any call may free a place: a runner looks again when one of its own ends, and at the latest after this time.
  if (select count(*) from call_place p where p.busy_until > present) >= at_once then
    return 250;
  end if;
  return 0;
end $$;
comment on function call_wait(text, integer, integer, interval) is
  'How long a call of a kind has to wait within the limits of all runners, in milliseconds; 0 when it may be made.';
revoke execute on function call_wait(text, integer, integer, interval) from public;

-- A permit is stamped and numbered behind the lock of the one row of `call_window`, so that permits have one order, whichever
-- runner asks; readers and editors have no right to that row. A permit holds for 500 ms; the window therefore counts 60.5 s, and
-- no 60 seconds ever see more calls than allowed. A call holds a place in flight until it ends, or until its deadline.
create or replace function take_call_permit(
  of_kind text, of_path text, of_runner text, per_minute integer, at_once integer, timeout_ms integer,
  call_window interval default '60.5 seconds', out call_id bigint, out wait_ms integer
) language plpgsql as $$
declare
  present timestamptz;
  deadline timestamptz;
  number bigint;
  free_place smallint;
begin
  perform from call_window for update;
  wait_ms := call_wait(of_kind, per_minute, at_once, call_window);
  if wait_ms > 0 then
    return;
  end if;
  wait_ms := null;
  present := clock_timestamp();
  deadline := present + make_interval(secs => (timeout_ms + 500) / 1000.0);
  update call_window set last_call_id = last_call_id + 1 returning last_call_id into number;
  call_id := number;
  insert into api_call (id, kind, path, runner, permit_at, deadline_at)
  values (number, of_kind, of_path, of_runner, present, deadline);
  select p.place into free_place from call_place p where p.busy_until <= present order by p.place limit 1;
  if free_place is null then
    insert into call_place (place, call_id, busy_until)
    select coalesce(max(p.place), 0) + 1, number, deadline from call_place p;
  else
    update call_place p set call_id = number, busy_until = deadline where p.place = free_place;
  end if;
end $$;
comment on function take_call_permit(text, text, text, integer, integer, integer, interval) is
  'One call within the limits of all runners, or the milliseconds to wait.';
revoke execute on function take_call_permit(text, text, text, integer, integer, integer, interval) from public;

insert into call_window default values on conflict do nothing;
