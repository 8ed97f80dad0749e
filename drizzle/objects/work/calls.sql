-- The call window: never more calls in any 60 seconds than allowed, nor more at once, over all runners.

-- The account's own limit holds too, once it is known. It counts as 1 at least: with 0 no runner could read
-- the account again.
create or replace function calls_allowed(per_minute integer) returns integer language plpgsql stable as $$
begin
  return greatest(1, least(per_minute, (select u.calls_per_minute_limit from account_usage u
    order by u.fetched_at desc limit 1)));
end $$;

-- What `call_window` lists may have ended since, or its deadline may have passed, because nobody said how it
-- ended. In PL/pgSQL, as what follows, because it plans a statement once a session.
create or replace function calls_in_flight(listed bigint[], present timestamptz) returns bigint[]
  language plpgsql volatile as $$
begin
  return array(select c.id from api_call c where c.id = any (listed) and c.ended_at is null
    and c.deadline_at > present);
end $$;

-- Permits are numbered in the order of their time, so the window is full when the permit that stands as many
-- numbers back as are allowed is younger than the window: one look-up, however many calls there are. A permit
-- of exactly one window ago still counts, one of a clock that was ahead does not. Volatile, so that behind
-- the lock of `call_window` it sees what the last holder committed.
create or replace function wait_of_call(
  of_kind text, allowed integer, at_once integer, call_window interval, last_id bigint, in_flight integer,
    present timestamptz
) returns integer language plpgsql volatile as $$
declare
  -- Limits per kind: spec: Limits (status, id_list); for tasks_ready our assumption.
  allowed_of_kind integer := case of_kind when 'tasks_ready' then 20 when 'id_list' then 10 when 'status'
    then 10 end;
  opens_at timestamptz;
begin
  select c.permit_at into opens_at from api_call c where c.id = last_id - allowed + 1
    and c.permit_at between present - call_window and present + interval '5 seconds';
  if allowed_of_kind is not null then
    select greatest(opens_at, (
      select c.permit_at from api_call c
      where c.kind = of_kind and c.kind in ('tasks_ready', 'id_list', 'status')
        and c.permit_at between present - call_window and present + interval '5 seconds'
      order by c.permit_at desc offset allowed_of_kind - 1 limit 1)) into opens_at;
  end if;
  if opens_at is not null then
    return greatest(1, ceil(extract(epoch from opens_at + call_window - present) * 1000));
  end if;
  -- The end of any call may free a place: a runner looks again when one of its own ends, and at the latest
  -- after this time.
  return case when in_flight >= at_once then 250 else 0 end;
end $$;

-- Without sequential scans: a plan that was made while `api_call` was small would go on reading all of it.
--- How long a call of a kind has to wait within the limits of all runners, in milliseconds; 0 when it may be
--- made.
create or replace function call_wait(
  of_kind text, per_minute integer, at_once integer, call_window interval default '60.5 seconds'
) returns integer language plpgsql volatile set enable_seqscan = off as $$
declare
  present timestamptz := clock_timestamp();
begin
  return (
    select wait_of_call(of_kind, calls_allowed(per_minute), at_once, call_window, w.last_call_id,
      cardinality(calls_in_flight(w.in_flight, present)), present)
    from call_window w where w.only_one);
end $$;

create or replace function end_calls(calls jsonb) returns void language plpgsql set enable_seqscan = off as $$
declare
  ids bigint[] := array(select e.id from jsonb_to_recordset(calls) as e (id bigint));
begin
  update api_call c set ended_at = clock_timestamp(), http_status = e.http_status,
    status_code = e.status_code, error = e.error
  from jsonb_to_recordset(calls) as e (id bigint, http_status integer, status_code integer, error text)
  where c.id = any (ids) and c.id = e.id;
end $$;

-- One turn of a runner at the window. Permits are stamped and numbered behind the lock of the one row of
-- `call_window`, so that they have one order, whichever runner asks. A permit holds for 500 ms after its
-- stamp; the window therefore counts 60.5 s, and no 60 seconds ever see more calls than allowed. For a runner
-- that is far away it holds longer: its permits are stamped as much later, by at most 4 s, and no stamp is
-- before that of the number before. A call is in flight until it ends, or until its deadline. Calls of a kind
-- that has a limit of its own ask alone. Statements are planned once a session: that takes longer than they
-- do.
--- Ends calls, and gives as many of the calls that are asked for as the limits of all runners allow now, the
--- milliseconds that the next one waits, and how long after the question they were given.
create or replace function take_call_permits(
  of_kinds text[], of_paths text[], of_runner text, ended jsonb, per_minute integer, at_once integer,
  timeout_ms integer, valid_ms integer default 500, call_window interval default '60.5 seconds',
  out first_call_id bigint, out given integer, out wait_ms integer, out given_after_ms integer
) language plpgsql set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
declare
  allowed integer := calls_allowed(per_minute);
  wanted integer := least(cardinality(of_kinds), allowed);
  present timestamptz;
  stamp timestamptz;
  last_id bigint;
  listed bigint[];
begin
  select w.last_call_id, w.in_flight into last_id, listed from call_window w where w.only_one for update;
  if ended is not null then
    perform end_calls(ended);
  end if;
  given := 0;
  if wanted = 0 then
    return;
  end if;
  present := clock_timestamp();
  given_after_ms := floor(extract(epoch from present - statement_timestamp()) * 1000);
  listed := calls_in_flight(listed, present);
  wait_ms := wait_of_call(of_kinds[1], allowed, at_once, call_window, last_id, cardinality(listed), present);
  if wait_ms > 0 then
    return;
  end if;
  -- The n-th call is allowed when the permit that stands `allowed` numbers before it has left the window.
  given := least(at_once - cardinality(listed), wanted - (
    select count(*) from api_call c
    where c.id > last_id - allowed and c.id <= last_id - allowed + wanted
      and c.permit_at between present - call_window and present + interval '5 seconds'));
  stamp := greatest(present + make_interval(secs => (valid_ms - 500) / 1000.0), (
    select least(c.permit_at, present + interval '4 seconds') from api_call c where c.id = last_id));
  first_call_id := last_id + 1;
  insert into api_call (id, kind, path, runner, permit_at, deadline_at)
  select last_id + c.number, c.kind, c.path, of_runner, stamp,
    present + make_interval(secs => (timeout_ms + valid_ms) / 1000.0)
  from unnest(of_kinds, of_paths) with ordinality as c (kind, path, number)
  where c.number <= given;
  last_id := last_id + given;
  listed := listed || array(select generate_series(first_call_id, last_id));
  update call_window w set last_call_id = last_id, in_flight = listed where w.only_one;
  wait_ms := case when given < cardinality(of_kinds) then
    wait_of_call(of_kinds[1], allowed, at_once, call_window, last_id, cardinality(listed),
      clock_timestamp()) end;
end $$;

insert into call_window default values on conflict do nothing;
