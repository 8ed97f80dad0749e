CREATE TABLE "money_zone" (
	"project_id" integer NOT NULL,
	"since" timestamp (6) with time zone NOT NULL,
	"timezone" text NOT NULL,
	CONSTRAINT "money_zone_project_id_since_pk" PRIMARY KEY("project_id","since")
);
--> statement-breakpoint
ALTER TABLE "target" DROP CONSTRAINT "target_function_of_store";
--> statement-breakpoint
ALTER TABLE "target" ADD CONSTRAINT "target_function_known" CHECK (function in ('app_searches', 'app_info', 'app_list', 'app_reviews'));
--> statement-breakpoint
-- An account without limits says 0 in each of them.
update account_usage set day_limit_micros = nullif(day_limit_micros, 0), minute_limit_micros = nullif(minute_limit_micros, 0),
  calls_per_minute_limit = nullif(calls_per_minute_limit, 0)
where 0 in (day_limit_micros, minute_limit_micros, calls_per_minute_limit);
--> statement-breakpoint
insert into money_zone (project_id, since, timezone) select id, '-infinity', timezone from project;
