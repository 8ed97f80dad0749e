-- A permit for one call is stamped after its lock, so that permits have one order, whichever runner asks. It holds for 500 ms;
-- the window therefore counts 60.5 s, with a permit of exactly one window ago, and no 60 seconds ever see more calls than
-- allowed. A call without an end counts as in flight until its deadline. The function returns either a call, or how long to
-- wait before asking again. It is volatile, so that each of its statements has a snapshot of its own: what is read after the
-- lock is the present.
create or replace function take_call_permit(
  of_kind text, of_path text, of_runner text, per_minute integer, at_once integer, timeout_ms integer,
  call_window interval default '60.5 seconds', out call_id bigint, out wait_ms integer
) language plpgsql as $$
declare
  stamp timestamptz;
  opens_at timestamptz;
  -- Limits per kind: spec: Limits (status, id_list); for tasks_ready our assumption.
  of_kind_per_minute integer := case of_kind when 'tasks_ready' then 20 when 'id_list' then 10 when 'status' then 10 end;
begin
  perform pg_advisory_xact_lock(hashtext('storerank'), hashtext('calls'));
  stamp := clock_timestamp();
  -- The account's own limit holds as well, once it is known; of a limit of 0 no runner could even ask again.
  per_minute := greatest(1, least(per_minute,
    (select u.calls_per_minute_limit from account_usage u order by u.fetched_at desc limit 1)));
  select greatest(
    (select c.permit_at from api_call c where c.permit_at >= stamp - call_window
      order by c.permit_at desc offset per_minute - 1 limit 1),
    (select c.permit_at from api_call c where c.permit_at >= stamp - call_window and c.kind = of_kind
      and of_kind_per_minute is not null order by c.permit_at desc offset of_kind_per_minute - 1 limit 1)
  ) + call_window into opens_at;
  if opens_at is not null then
    wait_ms := greatest(1, ceil(extract(epoch from opens_at - stamp) * 1000));
    return;
  end if;
  if (select count(*) from api_call c where c.ended_at is null and c.deadline_at > stamp) >= at_once then
    wait_ms := 25;
    return;
  end if;
  insert into api_call (kind, path, runner, permit_at, deadline_at)
  values (of_kind, of_path, of_runner, stamp, stamp + make_interval(secs => (timeout_ms + 500) / 1000.0))
  returning id into call_id;
end $$;
comment on function take_call_permit(text, text, text, integer, integer, integer, interval) is
  'One call within the limits of all runners, or the milliseconds to wait.';
revoke execute on function take_call_permit(text, text, text, integer, integer, integer, interval) from public;
