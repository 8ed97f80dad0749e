ALTER TABLE "target" DROP CONSTRAINT "target_function_of_store";
--> statement-breakpoint
ALTER TABLE "target" ADD CONSTRAINT "target_function_known" CHECK (function in ('app_searches', 'app_info', 'app_list', 'app_reviews'));
--> statement-breakpoint
-- An account without limits says 0 in each of them.
update account_usage set day_limit_micros = nullif(day_limit_micros, 0), minute_limit_micros = nullif(minute_limit_micros, 0),
  calls_per_minute_limit = nullif(calls_per_minute_limit, 0)
where 0 in (day_limit_micros, minute_limit_micros, calls_per_minute_limit);
