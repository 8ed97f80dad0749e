-- The service's clock is as its last answer about the account said. Where a test or the demo has moved
-- business time there is nothing to compare; a plan has held it still since it began.
--- How far the clock of this server is ahead of the service's, negative where it is behind; 0 within five
--- minutes.
create or replace function clock_ahead() returns interval language sql stable security definer
  set search_path = public, pg_temp as $$
  select coalesce((
    select make_interval(secs => u.ahead_s)
    from (select ahead_s from account_usage order by fetched_at desc limit 1) u
    where abs(u.ahead_s) > 300
      and storerank_now() between clock_timestamp() - interval '1 hour' and clock_timestamp()), interval '0')
$$;
