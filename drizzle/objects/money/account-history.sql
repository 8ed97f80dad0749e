--- What the service said of the account, one row each time that it was asked: hourly, and before planning.
--- .at: When it was asked.
create or replace view account_history as
select u.fetched_at as at, u.balance_micros * 0.000001 as balance_usd,
  u.day_limit_micros * 0.000001 as day_limit_usd,
  u.day_spent_micros * 0.000001 as day_spent_usd, u.calls_per_minute_limit as calls_per_minute
from account_usage u;
