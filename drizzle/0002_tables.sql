CREATE TABLE "app_numbers" (
	"id" bigint GENERATED ALWAYS AS IDENTITY (sequence name "app_numbers_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"location_code" integer NOT NULL,
	"day" date NOT NULL,
	"block" integer NOT NULL,
	"apps" smallint[] NOT NULL,
	"votes" integer[],
	"ratings" smallint[],
	"price_micros" bigint[],
	"currency" text,
	CONSTRAINT "app_numbers_location_code_id_pk" PRIMARY KEY("location_code","id")
);
--> statement-breakpoint
CREATE TABLE "due_slot" (
	"target_id" integer NOT NULL,
	"slot" timestamp (6) with time zone NOT NULL,
	"ends_at" timestamp (6) with time zone NOT NULL,
	"priority" smallint NOT NULL,
	"captured_at" timestamp (6) with time zone NOT NULL,
	"askers" integer NOT NULL,
	"cut" text,
	"price_micros" bigint,
	"short_of" integer[],
	"problem" text,
	CONSTRAINT "due_slot_target_id_slot_pk" PRIMARY KEY("target_id","slot"),
	CONSTRAINT "due_slot_cut_known" CHECK (cut in ('project_budget', 'overall_budget', 'dearer_than_project_budget', 'dearer_than_overall_budget'))
);
--> statement-breakpoint
CREATE TABLE "imported_rank" (
	"project" text NOT NULL,
	"target_id" integer NOT NULL,
	"app" integer NOT NULL,
	"day" date NOT NULL,
	"source" text NOT NULL,
	"rank" smallint NOT NULL,
	"imported_at" timestamp (6) with time zone DEFAULT storerank_now() NOT NULL,
	CONSTRAINT "imported_rank_project_target_id_app_day_source_pk" PRIMARY KEY("project","target_id","app","day","source"),
	CONSTRAINT "imported_rank_rank_1_to_1000" CHECK ((rank between 1 and 1000) is not false or refuse('imported_rank', 'rank_1_to_1000', array[project, day::text, source], to_jsonb(rank))),
	CONSTRAINT "imported_rank_day_2000_to_2200" CHECK ((day between '2000-01-01' and '2200-01-01') is not false or refuse('imported_rank', 'day_2000_to_2200', array[project, day::text, source], to_jsonb(day))),
	CONSTRAINT "imported_rank_source_1_to_100_trimmed" CHECK ((char_length(source) between 1 and 100 and source = btrim(source)) is not false or refuse('imported_rank', 'source_1_to_100_trimmed', array[project, day::text, source], to_jsonb(source), to_jsonb(char_length(source))))
);
--> statement-breakpoint
CREATE TABLE "money_zone" (
	"project_id" integer NOT NULL,
	"since" timestamp (6) with time zone NOT NULL,
	"timezone" text NOT NULL,
	CONSTRAINT "money_zone_project_id_since_pk" PRIMARY KEY("project_id","since")
);
--> statement-breakpoint
CREATE TABLE "period_change" (
	"period_id" bigint NOT NULL,
	"from_slot" timestamp (6) with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "alert_channel" DROP CONSTRAINT "alert_channel_kind_of_channel";
--> statement-breakpoint
ALTER TABLE "alert_channel" DROP CONSTRAINT "alert_channel_address_of_webhook_and_email";
--> statement-breakpoint
ALTER TABLE "alert_channel" DROP CONSTRAINT "alert_channel_email_1_to_20_addresses";
--> statement-breakpoint
ALTER TABLE "alert_channel" DROP CONSTRAINT "alert_channel_digest_known";
--> statement-breakpoint
ALTER TABLE "alert_rule" DROP CONSTRAINT "alert_rule_kind_of_rule";
--> statement-breakpoint
ALTER TABLE "alert_rule" DROP CONSTRAINT "alert_rule_keyword_and_tag_only_of_ranks";
--> statement-breakpoint
ALTER TABLE "alert_rule" DROP CONSTRAINT "alert_rule_store_and_app_not_of_money_and_service";
--> statement-breakpoint
ALTER TABLE "alert_rule" DROP CONSTRAINT "alert_rule_app_and_role_only_of_kinds_of_apps";
--> statement-breakpoint
ALTER TABLE "alert_rule" DROP CONSTRAINT "alert_rule_direction_only_of_moves";
--> statement-breakpoint
ALTER TABLE "alert_rule" DROP CONSTRAINT "alert_rule_threshold_of_kind";
--> statement-breakpoint
ALTER TABLE "alert_rule" DROP CONSTRAINT "alert_rule_threshold_in_range_of_kind";
--> statement-breakpoint
ALTER TABLE "alert_rule" DROP CONSTRAINT "alert_rule_bands_only_of_rank_moved";
--> statement-breakpoint
ALTER TABLE "alert_rule" DROP CONSTRAINT "alert_rule_bands_1_to_700";
--> statement-breakpoint
ALTER TABLE "alert_rule" DROP CONSTRAINT "alert_rule_top_of_kind";
--> statement-breakpoint
ALTER TABLE "alert_rule" DROP CONSTRAINT "alert_rule_top_1_to_700";
--> statement-breakpoint
ALTER TABLE "alert_rule" DROP CONSTRAINT "alert_rule_compared_with_only_of_comparing_kinds";
--> statement-breakpoint
ALTER TABLE "alert_rule" DROP CONSTRAINT "alert_rule_best_and_base_only_of_rank_moved";
--> statement-breakpoint
ALTER TABLE "alert_rule" DROP CONSTRAINT "alert_rule_base_1_to_700";
--> statement-breakpoint
ALTER TABLE "app_watch" DROP CONSTRAINT "app_watch_html_only_with_info_of_android_store";
--> statement-breakpoint
ALTER TABLE "app_watch" DROP CONSTRAINT "app_watch_reviews_only_of_ios_store";
--> statement-breakpoint
ALTER TABLE "app_watch" DROP CONSTRAINT "app_watch_reviews_depth_1_to_500";
--> statement-breakpoint
ALTER TABLE "app_watch" DROP CONSTRAINT "app_watch_every_1_2_3_4_6_8_12_hours_or_1_to_31_days";
--> statement-breakpoint
ALTER TABLE "app_watch" DROP CONSTRAINT "app_watch_app_id_form_by_store";
--> statement-breakpoint
ALTER TABLE "app_watch" DROP CONSTRAINT "app_watch_info_needs_location_and_language";
--> statement-breakpoint
ALTER TABLE "app_watch" DROP CONSTRAINT "app_watch_reviews_need_location_and_language";
--> statement-breakpoint
ALTER TABLE "chart_watch" DROP CONSTRAINT "chart_watch_only_of_android_store";
--> statement-breakpoint
ALTER TABLE "chart_watch" DROP CONSTRAINT "chart_watch_exactly_one_location";
--> statement-breakpoint
ALTER TABLE "chart_watch" DROP CONSTRAINT "chart_watch_depth_1_to_200";
--> statement-breakpoint
ALTER TABLE "chart_watch" DROP CONSTRAINT "chart_watch_every_1_2_3_4_6_8_12_hours_or_1_to_31_days";
--> statement-breakpoint
ALTER TABLE "keyword_watch" DROP CONSTRAINT "keyword_watch_exactly_one_location";
--> statement-breakpoint
ALTER TABLE "keyword_watch" DROP CONSTRAINT "keyword_watch_every_1_2_3_4_6_8_12_hours_or_1_to_31_days";
--> statement-breakpoint
ALTER TABLE "keyword_watch" DROP CONSTRAINT "keyword_watch_depth_1_to_maximum_of_function";
--> statement-breakpoint
ALTER TABLE "keyword_watch" DROP CONSTRAINT "keyword_watch_html_only_of_android_store";
--> statement-breakpoint
ALTER TABLE "rank_weight" DROP CONSTRAINT "rank_weight_rank_1_to_700";
--> statement-breakpoint
ALTER TABLE "target" DROP CONSTRAINT "target_function_of_store";
--> statement-breakpoint
DROP INDEX "alert_event_untold";
--> statement-breakpoint
DROP INDEX "post_ending";
--> statement-breakpoint
DROP INDEX "task_dropped";
--> statement-breakpoint
DROP INDEX "chart_watch_same_row_twice";
--> statement-breakpoint
DROP INDEX "task_unpacked";
--> statement-breakpoint
DROP INDEX "task_posted";
--> statement-breakpoint
DROP INDEX "task_overdue";
--> statement-breakpoint
DROP INDEX "task_awaited";
--> statement-breakpoint
DROP INDEX "task_open";
--> statement-breakpoint
DROP INDEX "watch_period_of_interval";
--> statement-breakpoint
ALTER TABLE "category" DROP CONSTRAINT "category_store_name_pk";
--> statement-breakpoint
ALTER TABLE "spend" DROP CONSTRAINT "spend_scope_begins_at_pk";
--> statement-breakpoint
ALTER TABLE "app_watch" ALTER COLUMN "reviews_depth" DROP DEFAULT;
--> statement-breakpoint
ALTER TABLE "keyword_watch" ALTER COLUMN "weight" DROP DEFAULT;
--> statement-breakpoint
ALTER TABLE "keyword_watch" ALTER COLUMN "weight" DROP NOT NULL;
--> statement-breakpoint
ALTER TABLE "account_usage" ADD COLUMN "ahead_s" integer;
--> statement-breakpoint
ALTER TABLE "alert_channel" ADD COLUMN "without" text[] DEFAULT '{}' NOT NULL;
--> statement-breakpoint
ALTER TABLE "alert_channel" ADD COLUMN "problem_kind" text;
--> statement-breakpoint
ALTER TABLE "alert_channel" ADD COLUMN "problem" text;
--> statement-breakpoint
ALTER TABLE "app" ADD COLUMN "former_developers" jsonb;
--> statement-breakpoint
ALTER TABLE "category" ADD COLUMN "kind" text DEFAULT 'chart' NOT NULL;
--> statement-breakpoint
ALTER TABLE "category" ADD COLUMN "listings" bigint;
--> statement-breakpoint
ALTER TABLE "charged_price" ADD COLUMN "unit_results" integer;
--> statement-breakpoint
ALTER TABLE "charged_price" ADD COLUMN "reserved_micros" bigint;
--> statement-breakpoint
ALTER TABLE "charged_price" ADD COLUMN "reserved_results" integer;
--> statement-breakpoint
ALTER TABLE "charged_price" ADD COLUMN "is_doubted" boolean DEFAULT false NOT NULL;
--> statement-breakpoint
ALTER TABLE "charged_price" ADD COLUMN "service_id" text;
--> statement-breakpoint
ALTER TABLE "charged_price" ADD COLUMN "learned_at" timestamp (6) with time zone DEFAULT clock_timestamp() NOT NULL;
--> statement-breakpoint
ALTER TABLE "charged_price" ADD COLUMN "is_told" boolean DEFAULT false NOT NULL;
--> statement-breakpoint
ALTER TABLE "chart_watch" ADD COLUMN "age_rating" text;
--> statement-breakpoint
ALTER TABLE "keyword_watch" ADD COLUMN "volume" bigint;
--> statement-breakpoint
ALTER TABLE "ledger" ADD COLUMN "opened_to" timestamp (6) with time zone DEFAULT '-infinity' NOT NULL;
--> statement-breakpoint
ALTER TABLE "ledger" ADD COLUMN "hold_reason" text;
--> statement-breakpoint
ALTER TABLE "ledger" ADD COLUMN "account" text;
--> statement-breakpoint
ALTER TABLE "project" ADD COLUMN "digest_channel" text;
--> statement-breakpoint
ALTER TABLE "ranking" ADD COLUMN "paid_ids" integer[];
--> statement-breakpoint
ALTER TABLE "ranking" ADD COLUMN "paid_places" smallint[];
--> statement-breakpoint
ALTER TABLE "restore_check" ADD COLUMN "places" text[] DEFAULT '{}' NOT NULL;
--> statement-breakpoint
ALTER TABLE "review" ADD COLUMN "helpful_count" integer;
--> statement-breakpoint
ALTER TABLE "review" ADD COLUMN "responses" jsonb;
--> statement-breakpoint
ALTER TABLE "spend" ADD COLUMN "change_id" bigint NOT NULL GENERATED BY DEFAULT AS IDENTITY (sequence name "spend_change_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1);
--> statement-breakpoint
ALTER TABLE "task" ADD COLUMN "not_before" timestamp (6) with time zone;
--> statement-breakpoint
ALTER TABLE "imported_rank" ADD CONSTRAINT "imported_rank_project_project_name_fk" FOREIGN KEY ("project") REFERENCES "public"."project"("name") ON DELETE no action ON UPDATE cascade;
--> statement-breakpoint
CREATE INDEX "due_slot_by_urgency" ON "due_slot" USING btree ((-priority),"captured_at","slot","target_id");
--> statement-breakpoint
CREATE INDEX "due_slot_by_end" ON "due_slot" USING btree ("ends_at");
--> statement-breakpoint
CREATE INDEX "due_slot_dearer" ON "due_slot" USING btree ("target_id") WHERE cut like 'dearer%';
--> statement-breakpoint
CREATE INDEX "imported_rank_of_target" ON "imported_rank" USING btree ("target_id");
--> statement-breakpoint
ALTER TABLE "project" ADD CONSTRAINT "project_digest_channel_alert_channel_name_fk" FOREIGN KEY ("digest_channel") REFERENCES "public"."alert_channel"("name") ON DELETE no action ON UPDATE cascade;
--> statement-breakpoint
CREATE INDEX "alert_event_undelivered" ON "alert_event" USING btree ("rule_id") WHERE message_id is null and held_back is null;
--> statement-breakpoint
CREATE INDEX "keyword_watch_with_capitals" ON "keyword_watch" USING btree (project,subject_key(folded_subject(keyword))) WHERE keyword <> folded_subject(keyword);
--> statement-breakpoint
CREATE INDEX "spend_unfolded" ON "spend" USING btree ("scope") WHERE change_id > 0;
--> statement-breakpoint
CREATE INDEX "task_ending" ON "task" USING btree ("slot_ends_at") WHERE attempt > 0 and state = 'planned' and post_id is not null;
--> statement-breakpoint
CREATE UNIQUE INDEX "chart_watch_same_row_twice" ON "chart_watch" USING btree (project,store,collection,coalesce(category, ''),coalesce(age_rating, ''),coalesce(location_code, 0),lower(coalesce(location_name, '') collate "C"),language_code);
--> statement-breakpoint
CREATE INDEX "task_unpacked" ON "task" USING btree ("slot_ends_at","slot") WHERE attempt > 0 and state = 'planned' and post_id is null;
--> statement-breakpoint
CREATE INDEX "task_posted" ON "task" USING btree ("ask_at","slot") WHERE attempt > 0 and state = 'posted';
--> statement-breakpoint
CREATE INDEX "task_overdue" ON "task" USING btree ("overdue_at","posted_at") WHERE attempt > 0 and state = 'posted';
--> statement-breakpoint
CREATE INDEX "task_awaited" ON "task" USING btree ("endpoint") WHERE attempt > 0 and state = 'posted';
--> statement-breakpoint
CREATE INDEX "task_open" ON "task" USING btree ("target_id","slot") WHERE attempt > 0 and state in ('planned', 'posting', 'posted');
--> statement-breakpoint
CREATE INDEX "watch_period_of_interval" ON "watch_period" USING btree ("every","target_id") WHERE ended_at is null and target_id is not null;
--> statement-breakpoint
ALTER TABLE "alert_channel" ADD CONSTRAINT "alert_channel_without_known_sections" CHECK ((without <@ array['summary', 'movers', 'trends', 'keywords', 'rivals', 'holders', 'changes', 'ratings', 'gaps', 'money']) is not false or refuse('alert_channel', 'without_known_sections', array[name], to_jsonb(without)));
--> statement-breakpoint
ALTER TABLE "alert_channel" ADD CONSTRAINT "alert_channel_kind_of_channel" CHECK ((kind in ('webhook', 'slack', 'teams', 'discord', 'email')) is not false or refuse('alert_channel', 'kind_of_channel', array[name], to_jsonb(kind)));
--> statement-breakpoint
ALTER TABLE "alert_channel" ADD CONSTRAINT "alert_channel_address_of_webhook_and_email" CHECK ((kind not in ('webhook', 'slack', 'teams', 'discord', 'email')
        or (address is null) = (kind in ('slack', 'teams', 'discord'))) is not false or refuse('alert_channel', 'address_of_webhook_and_email', array[name], to_jsonb(kind)));
--> statement-breakpoint
ALTER TABLE "alert_channel" ADD CONSTRAINT "alert_channel_email_1_to_20_addresses" CHECK ((kind <> 'email' or address ~ '^[A-Za-z0-9.!#$%&''*+/=?^_`{|}~-]+@[A-Za-z0-9-]+([.][A-Za-z0-9-]+)+( *, *[A-Za-z0-9.!#$%&''*+/=?^_`{|}~-]+@[A-Za-z0-9-]+([.][A-Za-z0-9-]+)+){0,19}$') is not false or refuse('alert_channel', 'email_1_to_20_addresses', array[name], to_jsonb(address)));
--> statement-breakpoint
ALTER TABLE "alert_channel" ADD CONSTRAINT "alert_channel_digest_known" CHECK ((digest in ('instant', 'daily', 'weekly', 'monthly')) is not false or refuse('alert_channel', 'digest_known', array[name], to_jsonb(digest)));
--> statement-breakpoint
ALTER TABLE "alert_rule" ADD CONSTRAINT "alert_rule_bands_1_to_1000" CHECK ((coalesce(threshold_11_to_30, 1) between 1 and 1000
        and coalesce(threshold_beyond, 1) between 1 and 1000) is not false or refuse('alert_rule', 'bands_1_to_1000', array[project, name], to_jsonb(threshold_11_to_30), to_jsonb(threshold_beyond)));
--> statement-breakpoint
ALTER TABLE "alert_rule" ADD CONSTRAINT "alert_rule_top_1_to_1000" CHECK ((top between 1 and 1000) is not false or refuse('alert_rule', 'top_1_to_1000', array[project, name], to_jsonb(top)));
--> statement-breakpoint
ALTER TABLE "alert_rule" ADD CONSTRAINT "alert_rule_base_1_to_1000" CHECK ((base between 1 and 1000) is not false or refuse('alert_rule', 'base_1_to_1000', array[project, name], to_jsonb(base)));
--> statement-breakpoint
ALTER TABLE "app_watch" ADD CONSTRAINT "app_watch_html_only_with_info_or_reviews_of_android_store" CHECK ((store not in ('ios_store', 'android_store') or (not html or ((info or reviews) and store = 'android_store'))) is not false or refuse('app_watch', 'html_only_with_info_or_reviews_of_android_store', array[project, store, app_id], to_jsonb(info), to_jsonb(reviews), to_jsonb(store)));
--> statement-breakpoint
ALTER TABLE "app_watch" ADD CONSTRAINT "app_watch_reviews_depth_1_to_maximum" CHECK ((store not in ('ios_store', 'android_store') or (reviews_depth between 1 and case store when 'ios_store' then 500 else 10000 end)) is not false or refuse('app_watch', 'reviews_depth_1_to_maximum', array[project, store, app_id], to_jsonb(reviews_depth)));
--> statement-breakpoint
ALTER TABLE "app_watch" ADD CONSTRAINT "app_watch_every_1_2_3_4_6_8_12_hours_or_1_to_31_days" CHECK ((every = '1 day' or (extract(year from every) = 0 and extract(month from every) = 0
        and (extract(epoch from every) in (3600, 7200, 10800, 14400, 21600, 28800, 43200)
          or (mod(extract(epoch from every), 86400) = 0 and extract(epoch from every) between 86400
            and 2678400)))) is not false or refuse('app_watch', 'every_1_2_3_4_6_8_12_hours_or_1_to_31_days', array[project, store, app_id], to_jsonb(every)));
--> statement-breakpoint
ALTER TABLE "app_watch" ADD CONSTRAINT "app_watch_app_id_form_by_store" CHECK ((store not in ('ios_store', 'android_store') or (case store
        when 'ios_store' then app_id ~ '^[1-9][0-9]{2,18}$'
        else app_id ~ '^[A-Za-z][A-Za-z0-9_]*([.][A-Za-z0-9_]+)+$' and char_length(app_id) <= 255 end)) is not false or refuse('app_watch', 'app_id_form_by_store', array[project, store, app_id], to_jsonb(app_id), to_jsonb(store)));
--> statement-breakpoint
ALTER TABLE "app_watch" ADD CONSTRAINT "app_watch_info_needs_location_and_language" CHECK ((not info or (num_nonnulls(location_code, location_name) = 1 and language_code is not null)) is not false or refuse('app_watch', 'info_needs_location_and_language', array[project, store, app_id], to_jsonb(info)));
--> statement-breakpoint
ALTER TABLE "app_watch" ADD CONSTRAINT "app_watch_reviews_need_location_and_language" CHECK ((not reviews or (num_nonnulls(location_code, location_name) = 1 and language_code is not null)) is not false or refuse('app_watch', 'reviews_need_location_and_language', array[project, store, app_id], to_jsonb(reviews)));
--> statement-breakpoint
ALTER TABLE "category" ADD CONSTRAINT "category_kind_known" CHECK (kind in ('chart', 'listing'));
--> statement-breakpoint
ALTER TABLE "chart_watch" ADD CONSTRAINT "chart_watch_store_known" CHECK ((store in ('ios_store', 'android_store')) is not false or refuse('chart_watch', 'store_known', array[project, collection, category], to_jsonb(store)));
--> statement-breakpoint
ALTER TABLE "chart_watch" ADD CONSTRAINT "chart_watch_at_most_one_location" CHECK ((num_nonnulls(location_code, location_name) <= 1) is not false or refuse('chart_watch', 'at_most_one_location', array[project, collection, category], to_jsonb(location_code), to_jsonb(location_name)));
--> statement-breakpoint
ALTER TABLE "chart_watch" ADD CONSTRAINT "chart_watch_location_name_missing" CHECK ((num_nonnulls(location_code, location_name) > 0) is not false or refuse('chart_watch', 'location_name_missing', array[project, collection, category], to_jsonb(location_name)));
--> statement-breakpoint
ALTER TABLE "chart_watch" ADD CONSTRAINT "chart_watch_html_only_of_android_store" CHECK ((store not in ('ios_store', 'android_store') or (not html or store = 'android_store')) is not false or refuse('chart_watch', 'html_only_of_android_store', array[project, collection, category], to_jsonb(store)));
--> statement-breakpoint
ALTER TABLE "chart_watch" ADD CONSTRAINT "chart_watch_age_rating_known" CHECK ((age_rating in ('ages_up_to_5', 'ages_6_8', 'ages_9_12')) is not false or refuse('chart_watch', 'age_rating_known', array[project, collection, category], to_jsonb(age_rating)));
--> statement-breakpoint
ALTER TABLE "chart_watch" ADD CONSTRAINT "chart_watch_age_rating_only_of_family_of_android_store" CHECK ((store not in ('ios_store', 'android_store') or (age_rating is null or (store = 'android_store' and coalesce(category, '') = 'family'))) is not false or refuse('chart_watch', 'age_rating_only_of_family_of_android_store', array[project, collection, category], to_jsonb(age_rating), to_jsonb(category), to_jsonb(store)));
--> statement-breakpoint
ALTER TABLE "chart_watch" ADD CONSTRAINT "chart_watch_depth_1_to_maximum_of_chart" CHECK ((store not in ('ios_store', 'android_store') or (depth between 1 and case store when 'ios_store' then 1000 else 200 end)) is not false or refuse('chart_watch', 'depth_1_to_maximum_of_chart', array[project, collection, category], to_jsonb(depth)));
--> statement-breakpoint
ALTER TABLE "chart_watch" ADD CONSTRAINT "chart_watch_every_1_2_3_4_6_8_12_hours_or_1_to_31_days" CHECK ((every = '1 day' or (extract(year from every) = 0 and extract(month from every) = 0
        and (extract(epoch from every) in (3600, 7200, 10800, 14400, 21600, 28800, 43200)
          or (mod(extract(epoch from every), 86400) = 0 and extract(epoch from every) between 86400
            and 2678400)))) is not false or refuse('chart_watch', 'every_1_2_3_4_6_8_12_hours_or_1_to_31_days', array[project, collection, category], to_jsonb(every)));
--> statement-breakpoint
ALTER TABLE "keyword_watch" ADD CONSTRAINT "keyword_watch_at_most_one_location" CHECK ((num_nonnulls(location_code, location_name) <= 1) is not false or refuse('keyword_watch', 'at_most_one_location', array[project, store, keyword], to_jsonb(location_code), to_jsonb(location_name)));
--> statement-breakpoint
ALTER TABLE "keyword_watch" ADD CONSTRAINT "keyword_watch_location_name_missing" CHECK ((num_nonnulls(location_code, location_name) > 0) is not false or refuse('keyword_watch', 'location_name_missing', array[project, store, keyword], to_jsonb(location_name)));
--> statement-breakpoint
ALTER TABLE "keyword_watch" ADD CONSTRAINT "keyword_watch_volume_0_to_1000000000" CHECK ((volume between 0 and 1000000000) is not false or refuse('keyword_watch', 'volume_0_to_1000000000', array[project, store, keyword], to_jsonb(volume)));
--> statement-breakpoint
ALTER TABLE "keyword_watch" ADD CONSTRAINT "keyword_watch_every_1_2_3_4_6_8_12_hours_or_1_to_31_days" CHECK ((every = '1 day' or (extract(year from every) = 0 and extract(month from every) = 0
        and (extract(epoch from every) in (3600, 7200, 10800, 14400, 21600, 28800, 43200)
          or (mod(extract(epoch from every), 86400) = 0 and extract(epoch from every) between 86400
            and 2678400)))) is not false or refuse('keyword_watch', 'every_1_2_3_4_6_8_12_hours_or_1_to_31_days', array[project, store, keyword], to_jsonb(every)));
--> statement-breakpoint
ALTER TABLE "keyword_watch" ADD CONSTRAINT "keyword_watch_depth_1_to_maximum_of_function" CHECK ((store not in ('ios_store', 'android_store') or (depth between 1 and case store when 'ios_store' then 700 else 200 end)) is not false or refuse('keyword_watch', 'depth_1_to_maximum_of_function', array[project, store, keyword], to_jsonb(depth)));
--> statement-breakpoint
ALTER TABLE "keyword_watch" ADD CONSTRAINT "keyword_watch_html_only_of_android_store" CHECK ((store not in ('ios_store', 'android_store') or (not html or store = 'android_store')) is not false or refuse('keyword_watch', 'html_only_of_android_store', array[project, store, keyword], to_jsonb(store)));
--> statement-breakpoint
ALTER TABLE "rank_weight" ADD CONSTRAINT "rank_weight_rank_1_to_1000" CHECK ((rank between 1 and 1000) is not false or refuse('rank_weight', 'rank_1_to_1000', array[curve, rank::text], to_jsonb(rank)));
--> statement-breakpoint
ALTER TABLE "target" ADD CONSTRAINT "target_function_known" CHECK (function in ('app_searches', 'app_info', 'app_list', 'app_reviews', 'app_listings'));
--> statement-breakpoint
ALTER TABLE "category" ADD CONSTRAINT "category_store_kind_name_pk" PRIMARY KEY("store","kind","name");
--> statement-breakpoint
ALTER TABLE "spend" ADD CONSTRAINT "spend_scope_begins_at_change_id_pk" PRIMARY KEY("scope","begins_at","change_id");
--> statement-breakpoint
-- An account without limits says 0 in each of them.
update account_usage set day_limit_micros = nullif(day_limit_micros, 0),
  minute_limit_micros = nullif(minute_limit_micros, 0),
  calls_per_minute_limit = nullif(calls_per_minute_limit, 0)
where 0 in (day_limit_micros, minute_limit_micros, calls_per_minute_limit);
--> statement-breakpoint
insert into money_zone (project_id, since, timezone) select id, '-infinity', timezone from project;
--> statement-breakpoint
-- From the slot on in which a period was not closed yet: what of it has a task or a row in the history is not
-- opened again.
insert into period_change (period_id, from_slot)
select id, date_bin(every, greatest(first_slot, closed_to), timestamptz '2001-01-01 00:00:00+00')
  from watch_period
where target_id is not null and (ended_at is null or closed_to < ended_at);
--> statement-breakpoint
insert into due_slot (target_id, slot, ends_at, priority, captured_at, askers, cut, price_micros)
select c.target_id, c.slot, c.slot_ends_at, coalesce(p.priority, 1), coalesce(t.captured_at, '-infinity'),
  p.askers, c.reason, c.price_micros
from budget_cut c join target t on t.id = c.target_id
cross join lateral (
  select max(p.priority) as priority, count(*) as askers from watch_period p where p.target_id = c.target_id
    and p.ended_at is null
) p;
--> statement-breakpoint
-- Tasks that a claim has dropped, and closing has not seen yet.
insert into due_slot (target_id, slot, ends_at, priority, captured_at, askers, problem)
select k.target_id, k.slot, max(k.slot_ends_at), max(k.priority), max(coalesce(t.captured_at, '-infinity')),
  max(cardinality(k.payers)),
  'It was planned, but its slot ended before it could be sent.'
from task k join target t on t.id = k.target_id
where k.state = 'dropped' and k.ended_at is null
  and not exists (select from task o where o.target_id = k.target_id and o.slot = k.slot
    and o.state <> 'dropped')
group by k.target_id, k.slot
on conflict do nothing;
--> statement-breakpoint
delete from task where state = 'dropped' and ended_at is null and attempt = 1;
--> statement-breakpoint
update task set ended_at = clock_timestamp() where state = 'dropped' and ended_at is null;
--> statement-breakpoint
update ledger set account = (select account from service_account);
--> statement-breakpoint
update alert_channel c set problem_kind = p.kind, problem = p.problem
from alert_channel_problem p where p.channel_id = c.id;
--> statement-breakpoint
update spend set change_id = 0;
--> statement-breakpoint
create or replace function ledger_taken() returns bigint language plpgsql stable as $$
begin
  return (select l.taken_micros from ledger l)
    + coalesce((select sum(c.charged_micros + c.duplicate_micros)
        from spend c where c.scope = 0 and c.change_id > 0), 0);
end $$;
--> statement-breakpoint
insert into spend (scope, begins_at, ends_at, reserved_micros, charged_micros, refunded_micros,
  duplicate_micros, adjusted_micros, tasks_charged)
select * from spend_change;
--> statement-breakpoint
insert into spend (scope, begins_at, ends_at, change_id, reserved_micros, charged_micros, refunded_micros,
  duplicate_micros, adjusted_micros, tasks_charged)
select d.scope, '-infinity', max(c.before), 0, 0,
  coalesce(sum(c.amount_micros) filter (where c.kind = 'charge'), 0),
  coalesce(sum(c.amount_micros) filter (where c.kind = 'refund'), 0),
  coalesce(sum(c.amount_micros) filter (where c.kind = 'duplicate'), 0),
  coalesce(sum(c.amount_micros) filter (where c.kind = 'adjustment'), 0), 0
from pruned_charge c cross join lateral (values (0), (c.project_id)) d (scope)
group by d.scope;
--> statement-breakpoint
-- It has no key, and a publication of all tables refuses to delete from what has no identity.
alter table period_change replica identity full;
--> statement-breakpoint
insert into category (store, kind, name, listings)
select store, 'listing', name, listings from listing_category;
--> statement-breakpoint
DROP TABLE "alert_channel_problem";
--> statement-breakpoint
DROP TABLE "budget_cut";
--> statement-breakpoint
DROP TABLE "due_batch";
--> statement-breakpoint
DROP TABLE "interval_progress";
--> statement-breakpoint
DROP TABLE "listing_category";
--> statement-breakpoint
DROP TABLE "period_due";
--> statement-breakpoint
DROP TABLE "pruned_charge";
--> statement-breakpoint
DROP TABLE "service_account";
--> statement-breakpoint
DROP TABLE "service_error";
--> statement-breakpoint
DROP TABLE "spelled_alike";
--> statement-breakpoint
DROP TABLE "spend_change";
--> statement-breakpoint
DROP TABLE "waiting_slot";
--> statement-breakpoint
DROP TABLE "watch_twin";
--> statement-breakpoint
ALTER TABLE "post" DROP COLUMN "slots_end_at";
--> statement-breakpoint
ALTER TABLE "watch_period" DROP COLUMN "closed_to";
