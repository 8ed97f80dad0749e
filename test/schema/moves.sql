-- An account without limits says 0 in each of them.
update account_usage set day_limit_micros = nullif(day_limit_micros, 0), minute_limit_micros = nullif(minute_limit_micros, 0),
  calls_per_minute_limit = nullif(calls_per_minute_limit, 0)
where 0 in (day_limit_micros, minute_limit_micros, calls_per_minute_limit);
----
insert into money_zone (project_id, since, timezone) select id, '-infinity', timezone from project;
