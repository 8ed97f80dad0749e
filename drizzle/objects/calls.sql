-- The call window: never more calls in any 60 seconds than allowed, nor more at once, over all runners.

-- The account's own limit holds too, once it is known. It counts as 1 at least: with 0 no runner could read the account again.
create or replace function calls_allowed(per_minute integer) returns integer language sql stable
return greatest(1, least(per_minute,
  (select u.calls_per_minute_limit from account_usage u order by u.fetched_at desc limit 1)));
comment on function calls_allowed(integer) is 'How many calls a minute are allowed: by our own setting and by the account.';
revoke execute on function calls_allowed(integer) from public;

-- How long a call has to wait, in milliseconds; 0: it may be made now. Permits are numbered in the order of their time, so the
-- window is full when the permit that stands as many numbers back as are allowed is younger than the window: one look-up, however
-- many calls there are. A permit of exactly one window ago still counts. Volatile, so that behind the lock of `call_window` it
-- sees what the last holder committed. Without sequential scans: a plan that was made while `api_call` was small would go on reading
-- all of it.
create or replace function call_wait(
  of_kind text, per_minute integer, at_once integer, call_window interval default '60.5 seconds'
) returns integer language plpgsql volatile set enable_seqscan = off as $$
declare
  present timestamptz := clock_timestamp();
  allowed integer := calls_allowed(per_minute);
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

-- Writes how calls ended, and frees their places in flight. Places are locked in their order, as those that give permits lock them.
-- By their ids, whatever the statistics say: a plan that was made while `api_call` was small would go on reading all of it.
create or replace function end_calls(calls jsonb) returns void language plpgsql set enable_seqscan = off as $$
declare
  ids bigint[] := array(select e.id from jsonb_to_recordset(calls) as e (id bigint));
begin
  update call_place p set busy_until = '-infinity'
  from (select c.place from call_place c where c.call_id = any (ids) order by c.place for update) ended
  where p.place = ended.place;
  update api_call c set ended_at = clock_timestamp(), http_status = e.http_status, status_code = e.status_code, error = e.error
  from jsonb_to_recordset(calls) as e (id bigint, http_status integer, status_code integer, error text)
  where c.id = any (ids) and c.id = e.id;
end $$;
comment on function end_calls(jsonb) is 'Writes how calls ended: an array of objects with id, http_status, status_code and error.';
revoke execute on function end_calls(jsonb) from public;

-- One turn of a runner at the window: its calls that have ended leave their places, and those that wait get permits, in their order, as
-- many as fit now. Permits are stamped and numbered behind the lock of the one row of `call_window`, so that they have one order,
-- whichever runner asks; readers and editors have no right to that row. A permit holds for 500 ms; the window therefore counts 60.5 s,
-- and no 60 seconds ever see more calls than allowed. A call holds a place in flight until it ends, or until its deadline. Calls of a kind
-- that has a limit of its own ask alone. Its statements are planned once a session, by the indexes alone: planning them again took longer
-- than they do.
create or replace function take_call_permits(
  of_kinds text[], of_paths text[], of_runner text, ended jsonb, per_minute integer, at_once integer, timeout_ms integer,
  call_window interval default '60.5 seconds', out first_call_id bigint, out given integer, out wait_ms integer
) language plpgsql set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
declare
  allowed integer := calls_allowed(per_minute);
  wanted integer := least(cardinality(of_kinds), allowed);
  present timestamptz;
  last_id bigint;
begin
  select w.last_call_id into last_id from call_window w for update;
  if ended is not null then
    perform end_calls(ended);
  end if;
  given := 0;
  wait_ms := case when wanted > 0 then call_wait(of_kinds[1], per_minute, at_once, call_window) end;
  if wait_ms is distinct from 0 then
    return;
  end if;
  present := clock_timestamp();
  -- The n-th call is allowed when the permit that stands `allowed` numbers before it has left the window.
  given := least(
    wanted - (select count(*) from api_call c
      where c.id > last_id - allowed and c.id <= last_id - allowed + wanted and c.permit_at >= present - call_window),
    at_once - (select count(*) from call_place p where p.busy_until > present));
  first_call_id := last_id + 1;
  update call_window set last_call_id = last_id + given;
  insert into api_call (id, kind, path, runner, permit_at, deadline_at)
  select last_id + c.number, c.kind, c.path, of_runner, present, present + make_interval(secs => (timeout_ms + 500) / 1000.0)
  from unnest(of_kinds, of_paths) with ordinality as c (kind, path, number)
  where c.number <= given;
  insert into call_place (place, call_id, busy_until)
  select free.place, last_id + free.number, present + make_interval(secs => (timeout_ms + 500) / 1000.0)
  from (
    -- One place more than were ever in use at once is always free. The limit is a condition on the number, and no `limit`, which would be planned
    -- anew for each call.
    select s.place, row_number() over (order by s.place) as number
    from generate_series(1, least(at_once, given + coalesce((select max(p.place) from call_place p), 0))) s (place)
    where not exists (select from call_place p where p.place = s.place and p.busy_until > present)
  ) free
  where free.number <= given
  on conflict (place) do update set call_id = excluded.call_id, busy_until = excluded.busy_until;
  wait_ms := case when given < cardinality(of_kinds) then call_wait(of_kinds[1], per_minute, at_once, call_window) end;
end $$;
comment on function take_call_permits(text[], text[], text, jsonb, integer, integer, integer, interval) is
  'Ends calls, and gives as many of the calls that are asked for as the limits of all runners allow now, and the milliseconds that the next one waits.';
revoke execute on function take_call_permits(text[], text[], text, jsonb, integer, integer, integer, interval) from public;

insert into call_window default values on conflict do nothing;
