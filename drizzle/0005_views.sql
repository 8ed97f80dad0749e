-- The public face of the history. Views join watch_period and not the watches, so a deleted, disabled or changed watch
-- keeps its history and owes only what it asked for at the time.
--
-- How they stay fast: the slots of a period are a lateral per period, so each is an index scan of the partitions that a
-- filter on `slot` leaves; array_position stands behind `offset 0`, so that it is evaluated once; the latest slot is a
-- lateral `limit 1` (`distinct on` reads everything: 4,691 ms against 16 ms).

-- A day is 24 hours here, whatever the session's time zone thinks of it.
create function slot_end(every interval, slot timestamptz) returns timestamptz language sql immutable parallel safe
return (slot at time zone 'UTC' + every) at time zone 'UTC';
--> statement-breakpoint
comment on function slot_end(interval, timestamptz) is 'When a slot is over, and the next one begins.';
--> statement-breakpoint

-- A slot that was still running when its period ended is not missed: another project may have gone on asking.
-- One `case`, which the planner takes for half of the rows; a conjunction of unknowns it takes for one in a thousand, and
-- then looks everything else up once per slot.
create function is_shown(p watch_period, slot timestamptz, gap text) returns boolean language sql immutable parallel safe
return case
  when slot < p.first_slot or slot > p.last_slot or slot_of(p.every, slot) <> slot then false
  when gap = 'missed' then slot_end(p.every, slot) <= coalesce(p.ended_at, 'infinity')
  else true
end;
--> statement-breakpoint
comment on function is_shown(watch_period, timestamptz, text) is
  'Whether a row of the history, by its slot and gap, belongs to what the period asked for.';
--> statement-breakpoint

-- Looks back to where everything is closed, and to what was posted and is not there yet, however late.
-- In PL/pgSQL so that the planner believes `rows`: inlined, generate_series is taken for 1,000 slots a period.
create function pending_slots(p watch_period) returns setof timestamptz
language plpgsql stable parallel safe rows 1 as $$
declare
  open_since timestamptz := (
    select min(k.slot) from task k where k.target_id = p.target_id and k.state in ('planned', 'posting', 'posted')
  );
  due timestamptz := greatest(p.first_slot, slot_of(p.every, least(p.closed_to, open_since)));
  present timestamptz := storerank_now();
begin
  while due <= least(p.last_slot, present) and (p.ended_at is null or slot_end(p.every, due) <= p.ended_at) loop
    if p.kind = 'keyword' then
      perform from ranking r where r.target_id = p.target_id and r.slot = due;
    else
      perform from app_snapshot s where s.target_id = p.target_id and s.slot = due;
    end if;
    if not found then
      return next due;
    end if;
    due := slot_end(p.every, due);
  end loop;
end $$;
--> statement-breakpoint
comment on function pending_slots(watch_period) is
  'The slots that a period asked for and the history has no row of: the current one, and older ones until they are closed.';
--> statement-breakpoint

-- The location that a misspelt name most likely meant: most pairs of letters in common, at least three in five.
-- In plain SQL, because no extension for it is everywhere.
create function nearest_location(in_store text, in_name text) returns text language sql stable parallel safe
return (
  select l.name
  from location l
  cross join lateral (
    select count(*) as shared from generate_series(1, char_length(in_name) - 1) i
    where position(substr(lower(in_name), i, 2) in lower(l.name)) > 0
  ) pairs
  where l.store = in_store and pairs.shared >= 0.6 * (char_length(in_name) - 1)
  order by pairs.shared::float8 / (char_length(in_name) + char_length(l.name)) desc, l.code
  limit 1
);
--> statement-breakpoint
comment on function nearest_location(text, text) is 'The known location of a store whose name is nearest; null when none is near.';
--> statement-breakpoint

-- One row per app, from the period that lasts longest: an app may be watched in several places. Not `distinct on`, which
-- the planner takes for one row and then looks all else up once per app; `offset 0` keeps it from becoming an anti-join
-- that runs once per slot.
create view project_app as
select p.project, a.store, a.app_id, a.title, p.label, p.role, p.ended_at, p.app
from watch_period p
join app a on a.id = p.app
where p.kind = 'app' and not exists (
  select from watch_period longer
  where longer.kind = 'app' and longer.project = p.project and longer.app = p.app
    and (coalesce(longer.ended_at, 'infinity'), longer.id) > (coalesce(p.ended_at, 'infinity'), p.id)
  offset 0
);
--> statement-breakpoint
comment on view project_app is
  'The apps of each project: each is ranked on every keyword that the project has in the same store.';
comment on column project_app.project is 'The project.';
comment on column project_app.store is 'ios_store or android_store.';
comment on column project_app.app_id is 'The id of the app in its store.';
comment on column project_app.title is 'The title of the app, as last seen; null until a result names it.';
comment on column project_app.label is 'What the project calls the app.';
comment on column project_app.role is 'own or competitor, as last said.';
comment on column project_app.ended_at is 'When it was last watched; null while it is.';
comment on column project_app.app is 'The app in the dictionary: app.id.';
--> statement-breakpoint

create view keyword_slot as
select p.project, p.target_id, p.every, s.slot, s.captured_at, s.gap, s.reason, s.depth, s.results_count, s.check_url,
  s.app_ids, s.absolute
from watch_period p
cross join lateral (
  select h.slot, h.captured_at, h.gap, h.reason, h.depth, h.results_count, h.check_url, h.app_ids, h.absolute
  from ranking h
  where h.target_id = p.target_id and is_shown(p, h.slot, h.gap)
  union all
  select due, null, 'pending', null, null, null, null, null, null
  from pending_slots(p) due
) s
where p.kind = 'keyword';
--> statement-breakpoint
comment on view keyword_slot is
  'Every slot that a project asked for a keyword: a measurement, a gap, or pending.';
comment on column keyword_slot.project is 'The project.';
comment on column keyword_slot.target_id is 'The measured target: what ranking, task and charge call it.';
comment on column keyword_slot.every is 'How often it was asked for at the time.';
comment on column keyword_slot.slot is 'When the measurement was due.';
comment on column keyword_slot.captured_at is 'When it was measured; null unless it was.';
comment on column keyword_slot.gap is 'Null when it was measured; else failed, budget, missed, html_only, or pending.';
comment on column keyword_slot.reason is 'Why there is no measurement, when that is known.';
comment on column keyword_slot.depth is 'How many ranks were asked for: "not in top" means not among these.';
comment on column keyword_slot.results_count is 'How many results the store said that there are.';
comment on column keyword_slot.check_url is 'Where a person sees the same at the store; may be null.';
comment on column keyword_slot.app_ids is 'The apps by organic rank, as numbers of the dictionary; a hole is 0.';
comment on column keyword_slot.absolute is 'The absolute ranks beside app_ids; null when none differs from the organic rank.';
--> statement-breakpoint

create view app_slot as
select p.project, p.target_id, p.every, s.slot, s.captured_at, s.gap, s.reason, p.app, s.found, s.rating, s.votes_count,
  s.reviews_count, s.price_micros, s.currency, s.version, s.installs_count, s.updated_at
from watch_period p
cross join lateral (
  select h.slot, h.captured_at, h.gap, h.reason, h.found, h.rating, h.votes_count, h.reviews_count, h.price_micros,
    h.currency, h.version, h.installs_count, h.updated_at
  from app_snapshot h
  where h.target_id = p.target_id and is_shown(p, h.slot, h.gap)
  union all
  select due, null, 'pending', null, null, null, null, null, null, null, null, null, null
  from pending_slots(p) due
) s
where p.kind = 'app' and p.target_id is not null;
--> statement-breakpoint
comment on view app_slot is
  'Every slot that a project asked for the details of an app: a measurement, a gap, or pending.';
comment on column app_slot.project is 'The project.';
comment on column app_slot.target_id is 'The measured target: what ranking, task and charge call it.';
comment on column app_slot.every is 'How often it was asked for at the time.';
comment on column app_slot.slot is 'When the measurement was due.';
comment on column app_slot.captured_at is 'When it was measured; null unless it was.';
comment on column app_slot.gap is 'Null when it was measured; else failed, budget, missed, html_only, or pending.';
comment on column app_slot.reason is 'Why there is no measurement, when that is known.';
comment on column app_slot.app is 'The app in the dictionary: app.id.';
comment on column app_slot.found is 'Whether the store has the app.';
comment on column app_slot.rating is 'The average rating.';
comment on column app_slot.votes_count is 'How many rated it.';
comment on column app_slot.reviews_count is 'How many reviewed it.';
comment on column app_slot.price_micros is 'The price in millionths of the currency.';
comment on column app_slot.currency is 'The currency of the price.';
comment on column app_slot.version is 'The version of the app.';
comment on column app_slot.installs_count is 'How often it was installed, as far as the store tells.';
comment on column app_slot.updated_at is 'When the app was last updated in the store.';
--> statement-breakpoint

-- A gap is never a drop and never filled with an older rank. An app that left the project is shown up to then.
create view rank_history as
select s.project, t.store, t.subject as keyword, coalesce(l.name, t.location_code::text) as location, t.location_code,
  t.language_code as language, a.app_id, a.title, a.label, a.role, s.slot, s.captured_at,
  found.rank, coalesce(s.absolute[found.rank], found.rank)::integer as absolute_rank, s.depth, s.results_count,
  case when s.gap is not null then s.gap when found.rank is null then 'not_in_top' else 'ranked' end as outcome,
  s.reason, s.check_url, s.every, s.target_id, a.app
from keyword_slot s
join target t on t.id = s.target_id
left join location l on l.store = t.store and l.code = t.location_code
join project_app a on a.project = s.project and a.store = t.store and s.slot < coalesce(a.ended_at, 'infinity')
cross join lateral (select array_position(s.app_ids, a.app) as rank offset 0) found;
--> statement-breakpoint
comment on view rank_history is
  'The rank of every app of a project on every keyword of the project, at every slot that was asked for. An app that is added today has its history at once.';
comment on column rank_history.project is 'The project.';
comment on column rank_history.store is 'ios_store or android_store.';
comment on column rank_history.keyword is 'The keyword, as it was watched.';
comment on column rank_history.location is 'The name of the location; its code until the references are loaded.';
comment on column rank_history.location_code is 'The code of the location at the service.';
comment on column rank_history.language is 'The language code.';
comment on column rank_history.app_id is 'The id of the app in its store.';
comment on column rank_history.title is 'The title of the app, as last seen; null until a result names it.';
comment on column rank_history.label is 'What the project calls the app.';
comment on column rank_history.role is 'own or competitor, as last said.';
comment on column rank_history.slot is 'When the measurement was due.';
comment on column rank_history.captured_at is 'When it was measured; null unless it was.';
comment on column rank_history.rank is 'The organic rank; null unless outcome is ranked.';
comment on column rank_history.absolute_rank is 'The rank when advertisements and bundles are counted too; null unless outcome is ranked.';
comment on column rank_history.depth is 'How many ranks were asked for: "not in top" means not among these.';
comment on column rank_history.results_count is 'How many results the store said that there are.';
comment on column rank_history.outcome is 'ranked; not_in_top (measured, and not within depth); or without a measurement: failed, budget, missed, html_only, pending.';
comment on column rank_history.reason is 'Why there is no measurement, when that is known.';
comment on column rank_history.check_url is 'Where a person sees the same at the store; may be null.';
comment on column rank_history.every is 'How often it was asked for at the time.';
comment on column rank_history.target_id is 'The measured target: what ranking, task and charge call it.';
comment on column rank_history.app is 'The app in the dictionary: app.id.';
--> statement-breakpoint

-- The slot may belong to an earlier period (before `every` was changed, say), so any period of the project will do.
create view rank_latest as
select k.project, t.store, t.subject as keyword, coalesce(l.name, t.location_code::text) as location, t.location_code,
  t.language_code as language, a.app_id, a.title, a.label, a.role, s.slot, s.captured_at,
  found.rank, coalesce(s.absolute[found.rank], found.rank)::integer as absolute_rank, s.depth, s.results_count,
  case when s.gap is not null then s.gap when found.rank is null then 'not_in_top' else 'ranked' end as outcome,
  s.reason, s.check_url, k.every, s.target_id, a.app
from watch_period k
cross join lateral (
  select r.* from ranking r
  where r.target_id = k.target_id and exists (
    select from watch_period p
    where p.target_id = k.target_id and p.project = k.project and p.kind = 'keyword' and is_shown(p, r.slot, r.gap)
  )
  order by r.slot desc
  limit 1
) s
join target t on t.id = k.target_id
left join location l on l.store = t.store and l.code = t.location_code
join project_app a on a.project = k.project and a.store = t.store and a.ended_at is null
cross join lateral (select array_position(s.app_ids, a.app) as rank offset 0) found
where k.kind = 'keyword' and k.ended_at is null;
--> statement-breakpoint
comment on view rank_latest is
  'The rank at the latest closed slot, of the keywords and apps that are followed now: never an older rank in place of a gap, never a pending one.';
comment on column rank_latest.project is 'The project.';
comment on column rank_latest.store is 'ios_store or android_store.';
comment on column rank_latest.keyword is 'The keyword, as it was watched.';
comment on column rank_latest.location is 'The name of the location; its code until the references are loaded.';
comment on column rank_latest.location_code is 'The code of the location at the service.';
comment on column rank_latest.language is 'The language code.';
comment on column rank_latest.app_id is 'The id of the app in its store.';
comment on column rank_latest.title is 'The title of the app, as last seen; null until a result names it.';
comment on column rank_latest.label is 'What the project calls the app.';
comment on column rank_latest.role is 'own or competitor, as last said.';
comment on column rank_latest.slot is 'When the measurement was due.';
comment on column rank_latest.captured_at is 'When it was measured; null unless it was.';
comment on column rank_latest.rank is 'The organic rank; null unless outcome is ranked.';
comment on column rank_latest.absolute_rank is 'The rank when advertisements and bundles are counted too; null unless outcome is ranked.';
comment on column rank_latest.depth is 'How many ranks were asked for: "not in top" means not among these.';
comment on column rank_latest.results_count is 'How many results the store said that there are.';
comment on column rank_latest.outcome is 'ranked; not_in_top (measured, and not within depth); or without a measurement: failed, budget, missed, html_only, pending.';
comment on column rank_latest.reason is 'Why there is no measurement, when that is known.';
comment on column rank_latest.check_url is 'Where a person sees the same at the store; may be null.';
comment on column rank_latest.every is 'How often it is asked for.';
comment on column rank_latest.target_id is 'The measured target: what ranking, task and charge call it.';
comment on column rank_latest.app is 'The app in the dictionary: app.id.';
--> statement-breakpoint

-- Hours, because a day of the session's time zone may have 23.
create view rank_change as
select l.*, past.rank_1d, past.rank_1d - l.rank as change_1d, past.rank_7d, past.rank_7d - l.rank as change_7d,
  past.rank_30d, past.rank_30d - l.rank as change_30d
from rank_latest l
cross join lateral (
  select max(found.rank) filter (where r.slot = l.slot - interval '24 hours') as rank_1d,
    max(found.rank) filter (where r.slot = l.slot - interval '168 hours') as rank_7d,
    max(found.rank) filter (where r.slot = l.slot - interval '720 hours') as rank_30d
  from ranking r
  cross join lateral (select array_position(r.app_ids, l.app) as rank offset 0) found
  where r.target_id = l.target_id
    and r.slot in (l.slot - interval '24 hours', l.slot - interval '168 hours', l.slot - interval '720 hours')
    and exists (
      select from watch_period p
      where p.target_id = l.target_id and p.project = l.project and p.kind = 'keyword' and is_shown(p, r.slot, r.gap)
    )
) past;
--> statement-breakpoint
comment on view rank_change is
  'rank_latest, beside the ranks of exactly 1, 7 and 30 days before.';
comment on column rank_change.project is 'The project.';
comment on column rank_change.store is 'ios_store or android_store.';
comment on column rank_change.keyword is 'The keyword, as it was watched.';
comment on column rank_change.location is 'The name of the location; its code until the references are loaded.';
comment on column rank_change.location_code is 'The code of the location at the service.';
comment on column rank_change.language is 'The language code.';
comment on column rank_change.app_id is 'The id of the app in its store.';
comment on column rank_change.title is 'The title of the app, as last seen; null until a result names it.';
comment on column rank_change.label is 'What the project calls the app.';
comment on column rank_change.role is 'own or competitor, as last said.';
comment on column rank_change.slot is 'When the measurement was due.';
comment on column rank_change.captured_at is 'When it was measured; null unless it was.';
comment on column rank_change.rank is 'The organic rank; null unless outcome is ranked.';
comment on column rank_change.absolute_rank is 'The rank when advertisements and bundles are counted too; null unless outcome is ranked.';
comment on column rank_change.depth is 'How many ranks were asked for: "not in top" means not among these.';
comment on column rank_change.results_count is 'How many results the store said that there are.';
comment on column rank_change.outcome is 'ranked; not_in_top (measured, and not within depth); or without a measurement: failed, budget, missed, html_only, pending.';
comment on column rank_change.reason is 'Why there is no measurement, when that is known.';
comment on column rank_change.check_url is 'Where a person sees the same at the store; may be null.';
comment on column rank_change.every is 'How often it is asked for.';
comment on column rank_change.target_id is 'The measured target: what ranking, task and charge call it.';
comment on column rank_change.app is 'The app in the dictionary: app.id.';
comment on column rank_change.rank_1d is 'The rank exactly one day before slot; null when it was not measured then, or not ranked.';
comment on column rank_change.change_1d is 'Ranks climbed in one day, negative when it fell; null when either end was not measured or not ranked.';
comment on column rank_change.rank_7d is 'The rank exactly 7 days before slot; null when it was not measured then, or not ranked.';
comment on column rank_change.change_7d is 'Ranks climbed in 7 days, negative when it fell; null when either end was not measured or not ranked.';
comment on column rank_change.rank_30d is 'The rank exactly 30 days before slot; null when it was not measured then, or not ranked.';
comment on column rank_change.change_30d is 'Ranks climbed in 30 days, negative when it fell; null when either end was not measured or not ranked.';
--> statement-breakpoint

create view ranked_apps as
select s.project, t.store, t.subject as keyword, coalesce(l.name, t.location_code::text) as location, t.location_code,
  t.language_code as language, s.slot, s.captured_at, found.rank::integer as rank,
  coalesce(s.absolute[found.rank], found.rank)::integer as absolute_rank, a.app_id, a.title, a.developer, s.depth,
  s.target_id, a.id as app
from keyword_slot s
join target t on t.id = s.target_id
left join location l on l.store = t.store and l.code = t.location_code
cross join lateral unnest(s.app_ids) with ordinality found (app, rank)
join app a on a.id = found.app;
--> statement-breakpoint
comment on view ranked_apps is
  'Every app of every measurement of a project''s keywords, watched or not.';
comment on column ranked_apps.project is 'The project.';
comment on column ranked_apps.store is 'ios_store or android_store.';
comment on column ranked_apps.keyword is 'The keyword, as it was watched.';
comment on column ranked_apps.location is 'The name of the location; its code until the references are loaded.';
comment on column ranked_apps.location_code is 'The code of the location at the service.';
comment on column ranked_apps.language is 'The language code.';
comment on column ranked_apps.slot is 'When the measurement was due.';
comment on column ranked_apps.captured_at is 'When it was measured.';
comment on column ranked_apps.rank is 'The organic rank.';
comment on column ranked_apps.absolute_rank is 'The rank when advertisements and bundles are counted too.';
comment on column ranked_apps.app_id is 'The id of the app in its store.';
comment on column ranked_apps.title is 'The title of the app, as last seen; null until a result names it.';
comment on column ranked_apps.developer is 'The developer, as last seen.';
comment on column ranked_apps.depth is 'How many ranks were asked for.';
comment on column ranked_apps.target_id is 'The measured target: what ranking, task and charge call it.';
comment on column ranked_apps.app is 'The app in the dictionary: app.id.';
--> statement-breakpoint

create view coverage as
select s.project, (s.slot at time zone 'UTC')::date as day, s.function, count(*) as owed,
  count(*) filter (where s.gap is null) as captured, count(*) filter (where s.gap = 'failed') as failed,
  count(*) filter (where s.gap = 'budget') as budget, count(*) filter (where s.gap = 'missed') as missed,
  count(*) filter (where s.gap = 'html_only') as html_only, count(*) filter (where s.gap = 'pending') as pending,
  round(count(*) filter (where s.gap is null)::numeric
    / nullif(count(*) filter (where s.gap is distinct from 'pending'), 0), 4) as captured_share
from (
  select project, slot, gap, 'app_searches' as function from keyword_slot
  union all
  select project, slot, gap, 'app_info' from app_slot
) s
group by 1, 2, 3;
--> statement-breakpoint
comment on view coverage is
  'What became of the slots of each day: how far the history can be trusted.';
comment on column coverage.project is 'The project.';
comment on column coverage.day is 'The UTC day of the slots.';
comment on column coverage.function is 'app_searches or app_info.';
comment on column coverage.owed is 'Slots that were asked for: measurements, gaps and what is pending.';
comment on column coverage.captured is 'Slots that were measured.';
comment on column coverage.failed is 'Slots whose task failed, or whose result could not be read.';
comment on column coverage.budget is 'Slots that no budget reached.';
comment on column coverage.missed is 'Slots that ended before anything asked for them.';
comment on column coverage.html_only is 'Slots that were measured, but as a page without ranks.';
comment on column coverage.pending is 'Slots that are not closed yet.';
comment on column coverage.captured_share is 'Measured slots, as a share of those that are closed; null while none is.';
--> statement-breakpoint

-- `* 0.000001` is exact in numeric.
create view spend_daily as
select c.project, (c.at at time zone coalesce(p.timezone, 'UTC'))::date as day,
  count(distinct c.task_id) filter (where c.kind = 'charge') as tasks_charged,
  coalesce(sum(c.amount_micros) filter (where c.kind = 'charge'), 0) * 0.000001 as charged_usd,
  coalesce(-sum(c.amount_micros) filter (where c.kind = 'refund'), 0) * 0.000001 as refunded_usd,
  coalesce(sum(c.amount_micros) filter (where c.kind = 'duplicate'), 0) * 0.000001 as duplicate_usd,
  coalesce(sum(c.amount_micros) filter (where c.kind <> 'estimate'), 0) * 0.000001 as spent_usd,
  coalesce(sum(c.amount_micros) filter (where c.open), 0) * 0.000001 as reserved_usd
from charge c
left join project p on p.name = c.project
where c.kind <> 'estimate' or c.open
group by 1, 2;
--> statement-breakpoint
comment on view spend_daily is
  'What each project spent and has reserved, by the days of its own time zone.';
comment on column spend_daily.project is 'The project.';
comment on column spend_daily.day is 'The day in the time zone of the project.';
comment on column spend_daily.tasks_charged is 'Tasks that the service charged; a shared one counts for each project.';
comment on column spend_daily.charged_usd is 'What the service took for tasks; of a shared one this project''s share.';
comment on column spend_daily.refunded_usd is 'What it gave back, because there were fewer results than asked for.';
comment on column spend_daily.duplicate_usd is 'What it took for a task that it had already taken money for.';
comment on column spend_daily.spent_usd is 'The sum: charged and duplicate, less refunded.';
comment on column spend_daily.reserved_usd is 'What tasks that are not charged yet may cost; it counts against the budgets.';
--> statement-breakpoint

-- All look-ups go by the key of one watch, target or slot.
create view watch_problem as
select w.watch_table, w.watch_id, w.project, w.store, w.subject, problem.problem, problem.message
from (
  select 'keyword_watch' as watch_table, 'keyword' as kind, 'app_searches' as function, true as is_measured,
    k.id as watch_id, k.project, k.store, k.keyword as subject, k.location_code, k.location_name, k.language_code
  from keyword_watch k
  where k.enabled
  union all
  select 'app_watch', 'app', 'app_info', a.info,
    a.id, a.project, a.store, a.app_id, a.location_code, a.location_name, a.language_code
  from app_watch a
  where a.enabled
) w
join project pr on pr.name = w.project
cross join lateral (select location_code_of(w.store, w.location_code, w.location_name) as code offset 0) place
left join watch_period p on p.kind = w.kind and p.watch_id = w.watch_id and p.ended_at is null
left join lateral (
  select other.watch_id
  from target t
  join watch_period other on other.target_id = t.id
  where p.id is null and w.is_measured and pr.enabled
    and t.store = w.store and t.function = w.function and md5(t.subject) = md5(w.subject)
    and t.location_code = place.code and t.language_code = w.language_code
    and other.kind = w.kind and other.project = w.project and other.ended_at is null
  limit 1
) twin on true
left join lateral (
  select h.slot, h.gap, h.reason from ranking h
  where w.kind = 'keyword' and h.target_id = p.target_id
  order by h.slot desc limit 1
) ranked on true
left join lateral (
  select h.slot, h.gap, h.reason from app_snapshot h
  where w.kind = 'app' and h.target_id = p.target_id
  order by h.slot desc limit 1
) detailed on true
cross join lateral (
  select coalesce(ranked.slot, detailed.slot) as slot, coalesce(ranked.gap, detailed.gap) as gap,
    coalesce(ranked.reason, detailed.reason) as reason
) latest
left join budget_cut cut on cut.target_id = p.target_id and cut.slot = slot_of(p.every, storerank_now())
cross join lateral (
  select 'project_disabled' as problem, format('Nothing of the project "%s" is measured, because it is disabled: '
    'update project set enabled = true where name = %L.', w.project, w.project) as message
  where not pr.enabled
  union all
  select 'references_missing', format('The location "%s" is looked up when the references of %s have been loaded, which '
    'the next run does.', w.location_name, w.store)
  where w.is_measured and place.code is null and not exists (select from location l where l.store = w.store)
  union all
  select 'location_unknown', format('%s has no location called "%s".', w.store, w.location_name)
    || coalesce(' Did you mean "' || nearest_location(w.store, w.location_name) || '"?', '')
    || ' Correct location_name, or give location_code instead; the table location has them all.'
  where w.is_measured and place.code is null and exists (select from location l where l.store = w.store)
  union all
  select 'location_unknown', format('%s has no location with the code %s. Correct location_code; the table location '
    'has them all.', w.store, w.location_code)
  where w.is_measured and w.location_code is not null and exists (select from location l where l.store = w.store)
    and not exists (select from location l where l.store = w.store and l.code = w.location_code)
  union all
  select 'language_unknown', format('%s has no language with the code "%s". Correct language_code; the table language '
    'has them all.', w.store, w.language_code)
  where w.is_measured and exists (select from language l where l.store = w.store)
    and not exists (select from language l where l.store = w.store and l.code = w.language_code)
  union all
  select 'followed_already', format('%s %s of this project follows the same already, and this row changes nothing: '
    'delete one of the two.', w.watch_table, twin.watch_id)
  where twin.watch_id is not null
  union all
  select case when cut.reason like 'dearer%' then 'dearer_than_budget' else 'money' end,
    format(case when cut.reason like 'dearer%'
      then 'It costs $%s a time, which is more than the whole budget %s, so it is never bought: raise %s, or lower the '
        'depth or the priority of the watch.'
      else 'This slot costs $%s, and the budget %s is used up: it is bought when money comes, and else becomes a gap. '
        'Raise %s, or watch less, or less often.'
      end, cut.price_micros * 0.000001, budget.whose, budget.setting)
  from (values
    ('%project_budget', 'of the project', 'its daily_usd or monthly_usd'),
    ('%overall_budget', 'of all projects', 'MAX_USD_PER_DAY, MAX_USD_PER_MONTH or the limits of the account')
  ) budget (reason, whose, setting)
  where cut.reason like budget.reason
  union all
  select 'last_slot_failed', format('The last measurement, due %s, failed: %s. The next slot is tried again; when that '
    'fails too, correct the watch.', to_char(latest.slot at time zone 'UTC', 'YYYY-MM-DD HH24:MI "UTC"'),
    coalesce(rtrim(latest.reason, '.'), 'no reason was given'))
  where latest.gap = 'failed'
) problem;
--> statement-breakpoint
comment on view watch_problem is
  'What keeps a watch from being measured, one row per problem, with a sentence saying what to do.';
comment on column watch_problem.watch_table is 'keyword_watch or app_watch.';
comment on column watch_problem.watch_id is 'The id of the watch in that table.';
comment on column watch_problem.project is 'The project.';
comment on column watch_problem.store is 'The store of the watch.';
comment on column watch_problem.subject is 'The keyword, or the id of the app.';
comment on column watch_problem.problem is 'project_disabled, references_missing, location_unknown, language_unknown, followed_already, money, dearer_than_budget or last_slot_failed.';
comment on column watch_problem.message is 'What is wrong, and what to do, as a sentence.';
--> statement-breakpoint

create view task_problem as
select t.ended_at as at, 'failed' as kind, g.store, g.function, g.subject, g.location_code, g.language_code, t.slot,
  t.id as task_id, t.service_id, t.status_code, coalesce(t.problem, 'The task failed.') as message
from task t
join target g on g.id = t.target_id
where t.state = 'failed' and not exists (select from rejected_result r where r.task_id = t.id)
union all
select r.received_at, 'rejected', g.store, g.function, g.subject, g.location_code, g.language_code, r.slot,
  r.task_id, r.service_id, null,
  format('The result was refused at %s: %s. Its body is kept in rejected_result.', r.path, rtrim(r.problem, '.'))
from rejected_result r
join target g on g.id = r.target_id
union all
select p.send_before, 'unknown', p.store, p.function, null, null, null, null, null, null, null,
  format('Whether the service took %s tasks is unknown since %s: %s. Their money stays reserved until %s.', count(t.id),
    to_char(p.send_before at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS "UTC"'),
    coalesce(rtrim(p.problem, '.'), 'no answer came'),
    case when p.scanned_at is null then 'the service''s own list has been searched for them twice'
      else format('the service''s own list is searched for them a second time; the first search began %s',
        to_char(p.scanned_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS "UTC"')) end)
from post p
left join task t on t.post_id = p.id and t.state = 'posting'
where p.state = 'unknown'
group by p.id
union all
select min(c.at), 'duplicate', g.store, g.function, g.subject, g.location_code, g.language_code, c.slot,
  c.task_id, c.service_id, null,
  format('The service took another $%s for a task that was paid for already.', sum(c.amount_micros) * 0.000001)
from charge c
join target g on g.id = c.target_id
where c.kind = 'duplicate'
group by g.id, c.slot, c.task_id, c.service_id
union all
select coalesce(t.ask_at, t.posted_at), 'overdue', g.store, g.function, g.subject, g.location_code, g.language_code, t.slot,
  t.id, t.service_id, t.status_code, format('It was posted at %s, and %s. It stays open and is asked for by its id.',
    to_char(t.posted_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS "UTC"'),
    coalesce('the last answer was: ' || rtrim(t.problem, '.'), 'no ready list has named it'))
from task t
join target g on g.id = t.target_id
where t.state = 'posted' and (t.ask_at < now() or t.problem is not null);
--> statement-breakpoint
comment on view task_problem is
  'What went wrong with tasks: failed, unreadable, of unknown outcome, paid twice, or overdue.';
comment on column task_problem.at is 'When it happened; of an overdue task since when.';
comment on column task_problem.kind is 'failed, rejected, unknown, duplicate or overdue.';
comment on column task_problem.store is 'ios_store or android_store.';
comment on column task_problem.function is 'app_searches or app_info.';
comment on column task_problem.subject is 'The keyword, or the id of the app; null for a whole post.';
comment on column task_problem.location_code is 'The code of the location at the service.';
comment on column task_problem.language_code is 'The language code.';
comment on column task_problem.slot is 'When the measurement was due; null for a whole post.';
comment on column task_problem.task_id is 'The task; null for a whole post.';
comment on column task_problem.service_id is 'The id of the task at the service.';
comment on column task_problem.status_code is 'The status code of the service.';
comment on column task_problem.message is 'What happened, and what becomes of it, as a sentence.';
--> statement-breakpoint

create view app_history as
select s.project, t.store, a.app_id, a.title, a.label, a.role, coalesce(l.name, t.location_code::text) as location,
  t.location_code, t.language_code as language, s.slot, s.captured_at, s.rating, s.votes_count, s.reviews_count,
  s.price_micros * 0.000001 as price_usd, s.currency, s.version, s.installs_count,
  case when s.gap is not null then s.gap when s.found then 'measured' else 'not_found' end as outcome,
  s.reason, s.updated_at, s.every, s.target_id, s.app
from app_slot s
join target t on t.id = s.target_id
left join location l on l.store = t.store and l.code = t.location_code
join project_app a on a.project = s.project and a.app = s.app;
--> statement-breakpoint
comment on view app_history is
  'The details of the watched apps, at every slot that was asked for.';
comment on column app_history.project is 'The project.';
comment on column app_history.store is 'ios_store or android_store.';
comment on column app_history.app_id is 'The id of the app in its store.';
comment on column app_history.title is 'The title of the app, as last seen; null until a result names it.';
comment on column app_history.label is 'What the project calls the app.';
comment on column app_history.role is 'own or competitor, as last said.';
comment on column app_history.location is 'The name of the location; its code until the references are loaded.';
comment on column app_history.location_code is 'The code of the location at the service.';
comment on column app_history.language is 'The language code.';
comment on column app_history.slot is 'When the measurement was due.';
comment on column app_history.captured_at is 'When it was measured; null unless it was.';
comment on column app_history.rating is 'The average rating.';
comment on column app_history.votes_count is 'How many rated it.';
comment on column app_history.reviews_count is 'How many reviewed it.';
comment on column app_history.price_usd is 'The price, in the currency beside it; 0 when it is free.';
comment on column app_history.currency is 'The currency of the price.';
comment on column app_history.version is 'The version of the app.';
comment on column app_history.installs_count is 'How often it was installed, as far as the store tells.';
comment on column app_history.outcome is 'measured; not_found (the store does not have it); or without a measurement: failed, budget, missed, html_only, pending.';
comment on column app_history.reason is 'Why there is no measurement, when that is known.';
comment on column app_history.updated_at is 'When the app was last updated in the store.';
comment on column app_history.every is 'How often it was asked for at the time.';
comment on column app_history.target_id is 'The measured target: what ranking, task and charge call it.';
comment on column app_history.app is 'The app in the dictionary: app.id.';
