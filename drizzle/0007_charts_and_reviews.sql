-- Charts, reviews and pages on request: what their watches ask for, and what people read of them.

drop function target_of(text, text, text, integer, text);
--> statement-breakpoint
-- Looks before it inserts: `on conflict do nothing` burns an id per existing row.
create function target_of(
  in_store text, in_function text, in_subject text, in_location integer, in_language text, in_category text default null
) returns integer language plpgsql set enable_seqscan = off as $$
declare
  found_id integer;
begin
  for attempt in 1..2 loop
    select t.id into found_id from target t
    where t.store = in_store and t.function = in_function and md5(t.subject) = md5(in_subject)
      and coalesce(t.category, '') = coalesce(in_category, '')
      and t.location_code = in_location and t.language_code = in_language;
    exit when found_id is not null;
    insert into target (store, function, subject, category, location_code, language_code)
    values (in_store, in_function, in_subject, in_category, in_location, in_language)
    on conflict do nothing returning id into found_id;
    exit when found_id is not null;
  end loop;
  return found_id;
end $$;
--> statement-breakpoint

-- Two periods of one project on one target never hold the same slot: with the same `every` the new one takes the
-- running slot over; with another it begins after the last slot of the old one. So a change of `every` shows no slot twice
-- and owes none that nobody had asked for.
-- The periods of the target are read once, by it alone: other indexes would bring all the project's periods for each.
create or replace function start_watch_period(new_period watch_period) returns void
language plpgsql set enable_seqscan = off as $$
declare
  present timestamptz := storerank_now();
  first timestamptz := slot_of(new_period.every, present);
  same bigint[];
  is_followed boolean;
  after timestamptz;
begin
  -- Seconds, because `+ '1 day'` adds 23 or 25 hours where the session's time zone changes its clocks.
  select array_agg(p.id), bool_or(p.ended_at is null),
    max(slot_of(new_period.every, p.last_slot) + make_interval(secs => extract(epoch from new_period.every)))
      filter (where p.every <> new_period.every and p.last_slot >= first)
  into same, is_followed, after
  from (select * from watch_period t where t.target_id = new_period.target_id offset 0) p
  where p.project = new_period.project and p.kind = new_period.kind;
  if is_followed then
    return; -- another watch of the project follows it already: watch_problem says so
  end if;
  if after is null then
    update watch_period p set last_slot = first - interval '1 microsecond'
    where p.id = any(same) and p.last_slot >= first;
  end if;
  insert into watch_period
    (kind, watch_id, project, target_id, app, role, label, every, depth, html, priority, started_at, first_slot, closed_to)
  values (new_period.kind, new_period.watch_id, new_period.project, new_period.target_id, new_period.app,
    new_period.role, new_period.label, new_period.every, new_period.depth, new_period.html, new_period.priority,
    present, coalesce(after, first), present)
  on conflict do nothing; -- two runners may find it missing at once, and two people may follow one target at once
end $$;
--> statement-breakpoint

-- What each watch asks for at present, as the period that it should have; null where it asks for nothing, or its place is
-- not known yet.
create function wanted_keyword_period(w keyword_watch) returns watch_period language plpgsql as $$
declare
  p watch_period;
  place integer := location_code_of(w.store, w.location_code, w.location_name);
begin
  if not w.enabled or place is null or not is_project_enabled(w.project) then
    return null;
  end if;
  p.kind := 'keyword';
  p.watch_id := w.id;
  p.project := w.project;
  p.target_id := target_of(w.store, 'app_searches', w.keyword, place, w.language_code);
  p.every := w.every;
  p.depth := w.depth;
  p.html := w.html;
  p.priority := w.priority;
  return p;
end $$;
--> statement-breakpoint

create function wanted_chart_period(w chart_watch) returns watch_period language plpgsql as $$
declare
  p watch_period;
  place integer := location_code_of(w.store, w.location_code, w.location_name);
begin
  if not w.enabled or place is null or not is_project_enabled(w.project) then
    return null;
  end if;
  p.kind := 'chart';
  p.watch_id := w.id;
  p.project := w.project;
  p.target_id := target_of(w.store, 'app_list', w.collection, place, w.language_code, w.category);
  p.every := w.every;
  p.depth := w.depth;
  p.html := w.html;
  p.priority := w.priority;
  return p;
end $$;
--> statement-breakpoint

-- An app is ranked on everything that its project ranks, wherever that is; only its details need a place of their own.
create function wanted_app_period(w app_watch) returns watch_period language plpgsql as $$
declare
  p watch_period;
  place integer := location_code_of(w.store, w.location_code, w.location_name);
begin
  if not w.enabled or (w.info and place is null) or not is_project_enabled(w.project) then
    return null;
  end if;
  p.kind := 'app';
  p.watch_id := w.id;
  p.project := w.project;
  p.app := app_of(w.store, w.app_id);
  if w.info then
    p.target_id := target_of(w.store, 'app_info', w.app_id, place, w.language_code);
  end if;
  p.role := w.role;
  p.label := w.label;
  p.every := w.every;
  p.html := w.html;
  p.priority := w.priority;
  return p;
end $$;
--> statement-breakpoint

create function wanted_reviews_period(w app_watch) returns watch_period language plpgsql as $$
declare
  p watch_period;
  place integer := location_code_of(w.store, w.location_code, w.location_name);
begin
  if not w.enabled or not w.reviews or place is null or not is_project_enabled(w.project) then
    return null;
  end if;
  p.kind := 'reviews';
  p.watch_id := w.id;
  p.project := w.project;
  p.app := app_of(w.store, w.app_id);
  p.target_id := target_of(w.store, 'app_reviews', w.app_id, place, w.language_code);
  p.every := w.every;
  p.depth := w.reviews_depth;
  p.html := false; -- offered by android_store alone, which has no reviews
  p.priority := w.priority;
  return p;
end $$;
--> statement-breakpoint

-- The open period goes on while the watch asks for the same thing of the same project as often: what else changed changes in
-- it. Renaming a project cascades to its periods as well, so that by then they have the new name.
create function keep_watch_period(of_kind text, of_watch bigint, wanted watch_period) returns void
language plpgsql set enable_seqscan = off as $$
declare
  open_id bigint := open_period(of_kind, of_watch);
begin
  if open_id is not null then
    update watch_period p
    set depth = wanted.depth, html = wanted.html, priority = wanted.priority, role = wanted.role, label = wanted.label
    where p.id = open_id and p.project = wanted.project and p.every = wanted.every
      and (p.target_id, p.app) is not distinct from (wanted.target_id, wanted.app);
    if found then
      return;
    end if;
    perform stop_watch_period(of_kind, of_watch);
  end if;
  if wanted.kind is not null then
    perform start_watch_period(wanted);
  end if;
end $$;
--> statement-breakpoint

create or replace function keep_keyword_period() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' or old.id <> new.id then
    perform stop_watch_period('keyword', old.id);
  end if;
  if tg_op <> 'DELETE' then
    perform keep_watch_period('keyword', new.id, wanted_keyword_period(new));
  end if;
  return null;
end $$;
--> statement-breakpoint

create function keep_chart_period() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' or old.id <> new.id then
    perform stop_watch_period('chart', old.id);
  end if;
  if tg_op <> 'DELETE' then
    perform keep_watch_period('chart', new.id, wanted_chart_period(new));
  end if;
  return null;
end $$;
--> statement-breakpoint

create or replace function keep_app_period() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' or old.id <> new.id then
    perform stop_watch_period('app', old.id);
    perform stop_watch_period('reviews', old.id);
  end if;
  if tg_op <> 'DELETE' then
    perform keep_watch_period('app', new.id, wanted_app_period(new));
    perform keep_watch_period('reviews', new.id, wanted_reviews_period(new));
  end if;
  return null;
end $$;
--> statement-breakpoint

-- For watches whose location became known, or whose twin is gone.
create or replace function start_missing_watch_periods() returns void language sql
begin atomic
  select keep_watch_period('keyword', w.id, wanted_keyword_period(w)) from keyword_watch w
  where w.enabled
    and not exists (select from watch_period p where p.kind = 'keyword' and p.watch_id = w.id and p.ended_at is null);
  select keep_watch_period('chart', w.id, wanted_chart_period(w)) from chart_watch w
  where w.enabled
    and not exists (select from watch_period p where p.kind = 'chart' and p.watch_id = w.id and p.ended_at is null);
  select keep_watch_period('app', w.id, wanted_app_period(w)) from app_watch w
  where w.enabled
    and not exists (select from watch_period p where p.kind = 'app' and p.watch_id = w.id and p.ended_at is null);
  select keep_watch_period('reviews', w.id, wanted_reviews_period(w)) from app_watch w
  where w.enabled and w.reviews
    and not exists (select from watch_period p where p.kind = 'reviews' and p.watch_id = w.id and p.ended_at is null);
end;
--> statement-breakpoint
drop function start_keyword_period(keyword_watch);
--> statement-breakpoint
drop function start_app_period(app_watch);
--> statement-breakpoint
create trigger a_project before insert or update of project on chart_watch for each row execute function prepare_watch();
--> statement-breakpoint
create trigger keep_period after insert or update or delete on chart_watch
for each row execute function keep_chart_period();
--> statement-breakpoint

-- `truncate` fires no row trigger.
create or replace function stop_all_periods() returns trigger language plpgsql as $$
begin
  update watch_period set ended_at = storerank_now(), last_slot = slot_of(every, storerank_now())
  where kind = any(tg_argv) and ended_at is null;
  return null;
end $$;
--> statement-breakpoint
create trigger stop_periods after truncate on chart_watch
for each statement execute function stop_all_periods('chart');
--> statement-breakpoint
create or replace trigger stop_periods after truncate on app_watch
for each statement execute function stop_all_periods('app', 'reviews');
--> statement-breakpoint

create or replace function keep_project_periods() returns trigger language plpgsql as $$
begin
  if new.enabled then
    perform start_missing_watch_periods();
  else
    update watch_period set ended_at = storerank_now(), last_slot = slot_of(every, storerank_now())
    where project = new.name and ended_at is null;
  end if;
  return null;
end $$;
--> statement-breakpoint

-- A task that fails closes its slot in the same transaction, whoever fails it: no failure is ever a silence.
create or replace function close_failed_task() returns trigger language plpgsql as $$
begin
  perform ensure_history_partitions(new.slot, new.slot);
  if (select t.function from target t where t.id = new.target_id) in ('app_info', 'app_reviews') then
    insert into app_snapshot (target_id, slot, gap, reason) values (new.target_id, new.slot, 'failed', new.problem)
    on conflict (target_id, slot) do nothing;
  else
    insert into ranking (target_id, slot, gap, reason) values (new.target_id, new.slot, 'failed', new.problem)
    on conflict (target_id, slot) do nothing;
  end if;
  return null;
end $$;
--> statement-breakpoint

-- Looks back to where everything is closed, and to what was posted and is not there yet, however late.
-- In PL/pgSQL so that the planner believes `rows`: inlined, generate_series is taken for 1,000 slots a period.
create or replace function pending_slots(p watch_period) returns setof timestamptz
language plpgsql stable parallel safe rows 1 as $$
declare
  open_since timestamptz := (
    select min(k.slot) from task k where k.target_id = p.target_id and k.state in ('planned', 'posting', 'posted')
  );
  due timestamptz := greatest(p.first_slot, slot_of(p.every, least(p.closed_to, open_since)));
  present timestamptz := storerank_now();
begin
  while due <= least(p.last_slot, present) and (p.ended_at is null or slot_end(p.every, due) <= p.ended_at) loop
    if p.kind in ('keyword', 'chart') then
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

-- What people read.

create view ranked_list as
select t.id as target_id, t.store, case t.function when 'app_list' then 'chart' else 'keyword' end as list,
  case t.function when 'app_searches' then t.subject end as keyword,
  case t.function when 'app_list' then t.subject end as collection, t.category,
  coalesce(l.name, t.location_code::text) as location, t.location_code, t.language_code as language
from target t
left join location l on l.store = t.store and l.code = t.location_code
where t.function in ('app_searches', 'app_list');
--> statement-breakpoint
comment on view ranked_list is 'What apps are ranked on: each keyword and each chart in its place.';
comment on column ranked_list.target_id is 'The measured target: what ranking, task and charge call it.';
comment on column ranked_list.store is 'ios_store or android_store.';
comment on column ranked_list.list is 'keyword or chart.';
comment on column ranked_list.keyword is 'The keyword, as it was watched; null for a chart.';
comment on column ranked_list.collection is 'The collection of a chart; null for a keyword.';
comment on column ranked_list.category is 'The category of a chart; null for a keyword, and for all of the collection.';
comment on column ranked_list.location is 'The name of the location; its code until the references are loaded.';
comment on column ranked_list.location_code is 'The code of the location at the service.';
comment on column ranked_list.language is 'The language code.';
--> statement-breakpoint

alter view keyword_slot rename to ranking_slot;
--> statement-breakpoint
create or replace view ranking_slot as
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
where p.kind in ('keyword', 'chart');
--> statement-breakpoint
comment on view ranking_slot is
  'Every slot that a project asked for a keyword or a chart: a measurement, a gap, or pending.';
--> statement-breakpoint

create or replace view app_slot as
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
where p.kind in ('app', 'reviews') and p.target_id is not null;
--> statement-breakpoint
comment on view app_slot is
  'Every slot that a project asked for the details or the reviews of an app: a measurement, a gap, or pending.';
comment on column app_slot.price_micros is 'The price in millionths of the currency; null for reviews.';
comment on column app_slot.currency is 'The currency of the price; null for reviews.';
comment on column app_slot.version is 'The version of the app; null for reviews.';
comment on column app_slot.installs_count is 'How often it was installed, as far as the store tells; null for reviews.';
comment on column app_slot.updated_at is 'When the app was last updated in the store; null for reviews.';
--> statement-breakpoint

create or replace view rank_history as
select s.project, t.store, t.keyword, t.location, t.location_code, t.language, a.app_id, a.title, a.label, a.role, s.slot,
  s.captured_at, found.rank, coalesce(s.absolute[found.rank], found.rank)::integer as absolute_rank, s.depth,
  s.results_count,
  case when s.gap is not null then s.gap when found.rank is null then 'not_in_top' else 'ranked' end as outcome,
  s.reason, s.check_url, s.every, s.target_id, a.app, t.list, t.collection, t.category
from ranking_slot s
join ranked_list t on t.target_id = s.target_id
join project_app a on a.project = s.project and a.store = t.store and s.slot < coalesce(a.ended_at, 'infinity')
cross join lateral (select array_position(s.app_ids, a.app) as rank offset 0) found;
--> statement-breakpoint
comment on view rank_history is
  'The rank of every app of a project on every keyword and chart of the project, at every slot that was asked for. An app that is added today has its history at once.';
comment on column rank_history.keyword is 'The keyword, as it was watched; null for a chart.';
comment on column rank_history.list is 'keyword or chart.';
comment on column rank_history.collection is 'The collection of a chart; null for a keyword.';
comment on column rank_history.category is 'The category of a chart; null for a keyword, and for all of the collection.';
--> statement-breakpoint

create or replace view rank_latest as
select k.project, t.store, t.keyword, t.location, t.location_code, t.language, a.app_id, a.title, a.label, a.role, s.slot,
  s.captured_at, found.rank, coalesce(s.absolute[found.rank], found.rank)::integer as absolute_rank, s.depth,
  s.results_count,
  case when s.gap is not null then s.gap when found.rank is null then 'not_in_top' else 'ranked' end as outcome,
  s.reason, s.check_url, k.every, s.target_id, a.app, t.list, t.collection, t.category
from watch_period k
cross join lateral (
  select r.* from ranking r
  where r.target_id = k.target_id and exists (
    select from watch_period p
    where p.target_id = k.target_id and p.project = k.project and is_shown(p, r.slot, r.gap)
  )
  order by r.slot desc
  limit 1
) s
join ranked_list t on t.target_id = k.target_id
join project_app a on a.project = k.project and a.store = t.store and a.ended_at is null
cross join lateral (select array_position(s.app_ids, a.app) as rank offset 0) found
where k.kind in ('keyword', 'chart') and k.ended_at is null;
--> statement-breakpoint
comment on view rank_latest is
  'The rank at the latest closed slot, of the keywords, charts and apps that are followed now: never an older rank in place of a gap, never a pending one.';
comment on column rank_latest.keyword is 'The keyword, as it was watched; null for a chart.';
comment on column rank_latest.list is 'keyword or chart.';
comment on column rank_latest.collection is 'The collection of a chart; null for a keyword.';
comment on column rank_latest.category is 'The category of a chart; null for a keyword, and for all of the collection.';
--> statement-breakpoint

-- Hours, because a day of the session's time zone may have 23. The arrays of the past are looked up once for all apps; `max`
-- takes the only one there is.
create or replace view rank_change as
select l.project, l.store, l.keyword, l.location, l.location_code, l.language, l.app_id, l.title, l.label, l.role, l.slot,
  l.captured_at, l.rank, l.absolute_rank, l.depth, l.results_count, l.outcome, l.reason, l.check_url, l.every, l.target_id,
  l.app, past.rank_1d, past.rank_1d - l.rank as change_1d, past.rank_7d, past.rank_7d - l.rank as change_7d,
  past.rank_30d, past.rank_30d - l.rank as change_30d, l.list, l.collection, l.category
from rank_latest l
cross join lateral (
  select max(r.app_ids) filter (where r.slot = l.slot - interval '24 hours') as ids_1d,
    max(r.app_ids) filter (where r.slot = l.slot - interval '168 hours') as ids_7d,
    max(r.app_ids) filter (where r.slot = l.slot - interval '720 hours') as ids_30d
  from ranking r
  where r.target_id = l.target_id
    and r.slot in (l.slot - interval '24 hours', l.slot - interval '168 hours', l.slot - interval '720 hours')
    and exists (
      select from watch_period p
      where p.target_id = l.target_id and p.project = l.project and is_shown(p, r.slot, r.gap)
    )
) was
cross join lateral (
  select array_position(was.ids_1d, l.app) as rank_1d, array_position(was.ids_7d, l.app) as rank_7d,
    array_position(was.ids_30d, l.app) as rank_30d offset 0
) past;
--> statement-breakpoint
comment on column rank_change.keyword is 'The keyword, as it was watched; null for a chart.';
comment on column rank_change.list is 'keyword or chart.';
comment on column rank_change.collection is 'The collection of a chart; null for a keyword.';
comment on column rank_change.category is 'The category of a chart; null for a keyword, and for all of the collection.';
--> statement-breakpoint

create or replace view ranked_apps as
select s.project, t.store, t.keyword, t.location, t.location_code, t.language, s.slot, s.captured_at,
  found.rank::integer as rank, coalesce(s.absolute[found.rank], found.rank)::integer as absolute_rank, a.app_id, a.title,
  a.developer, s.depth, s.target_id, a.id as app, t.list, t.collection, t.category
from ranking_slot s
join ranked_list t on t.target_id = s.target_id
cross join lateral unnest(s.app_ids) with ordinality found (app, rank)
join app a on a.id = found.app;
--> statement-breakpoint
comment on view ranked_apps is
  'Every app of every measurement of a project''s keywords and charts, watched or not.';
comment on column ranked_apps.keyword is 'The keyword, as it was watched; null for a chart.';
comment on column ranked_apps.list is 'keyword or chart.';
comment on column ranked_apps.collection is 'The collection of a chart; null for a keyword.';
comment on column ranked_apps.category is 'The category of a chart; null for a keyword, and for all of the collection.';
--> statement-breakpoint

-- One pass over the slots and one aggregate. A calendar joined lateral would open only the days that a filter on `day` leaves,
-- but takes 4 times as long for a year, and its guessed costs wake the JIT compiler, which takes seconds.
create view rank_daily as
select h.project, (h.slot at time zone p.timezone)::date as day, h.store, h.list, h.keyword, h.collection, h.category,
  h.location, h.location_code, h.language, h.app_id, h.title, h.label, h.role,
  min(h.rank) as best_rank,
  (array_agg(h.rank order by h.slot desc) filter (where h.outcome in ('ranked', 'not_in_top')))[1] as last_rank,
  min(h.depth) as depth,
  round(avg(case h.outcome when 'ranked' then 1.0 / h.rank when 'not_in_top' then 0 end), 6) as visibility,
  count(*) filter (where h.outcome in ('ranked', 'not_in_top')) as measured, count(*) as owed, h.target_id, h.app
from rank_history h
join project p on p.name = h.project
group by h.project, day, h.store, h.list, h.keyword, h.collection, h.category, h.location, h.location_code, h.language,
  h.app_id, h.title, h.label, h.role, h.target_id, h.app;
--> statement-breakpoint
comment on view rank_daily is
  'rank_history by days of the project''s own time zone: one row per day, keyword or chart, and app. A filter on day alone reads the whole history of the project: filter by app or keyword too, or ask rank_history by slot.';
comment on column rank_daily.project is 'The project.';
comment on column rank_daily.day is 'The day of the slots in the time zone of the project.';
comment on column rank_daily.store is 'ios_store or android_store.';
comment on column rank_daily.list is 'keyword or chart.';
comment on column rank_daily.keyword is 'The keyword, as it was watched; null for a chart.';
comment on column rank_daily.collection is 'The collection of a chart; null for a keyword.';
comment on column rank_daily.category is 'The category of a chart; null for a keyword, and for all of the collection.';
comment on column rank_daily.location is 'The name of the location; its code until the references are loaded.';
comment on column rank_daily.location_code is 'The code of the location at the service.';
comment on column rank_daily.language is 'The language code.';
comment on column rank_daily.app_id is 'The id of the app in its store.';
comment on column rank_daily.title is 'The title of the app, as last seen; null until a result names it.';
comment on column rank_daily.label is 'What the project calls the app.';
comment on column rank_daily.role is 'own or competitor, as last said.';
comment on column rank_daily.best_rank is 'The best organic rank of the day; null when it was not measured (measured is 0), or never within depth.';
comment on column rank_daily.last_rank is 'The organic rank at the last measurement of the day; null when there was none, or it was not within depth.';
comment on column rank_daily.depth is 'How many ranks were asked for, where that changed the fewest: "not within depth" means not among these.';
comment on column rank_daily.visibility is 'The average of 1/rank over the measurements of the day: 1 is first every time, 0 never within depth; null when it was not measured.';
comment on column rank_daily.measured is 'Slots of the day that were measured.';
comment on column rank_daily.owed is 'Slots of the day that were asked for: measurements, gaps and what is pending.';
comment on column rank_daily.target_id is 'The measured target: what ranking, task and charge call it.';
comment on column rank_daily.app is 'The app in the dictionary: app.id.';
--> statement-breakpoint

create view visibility_daily as
select d.project, d.day, d.store, d.list, d.app_id, d.title, d.label, d.role, round(avg(d.visibility), 6) as visibility,
  count(d.best_rank) as ranked, count(*) filter (where d.measured > 0) as measured, count(*) as owed,
  round(count(*) filter (where d.measured > 0)::numeric / count(*), 4) as measured_share, d.app
from rank_daily d
group by d.project, d.day, d.store, d.list, d.app_id, d.title, d.label, d.role, d.app;
--> statement-breakpoint
comment on view visibility_daily is
  'How well an app is found on all keywords of its project, or on all its charts, by days of the project''s own time zone. visibility = the average of 1/rank: over the measurements of the day for each keyword (0 where the app was not within depth), then over the keywords, each as heavy as any other. What was not measured is in neither side of it: a gap is never a loss, and measured_share says how much of the day it stands for.';
comment on column visibility_daily.project is 'The project.';
comment on column visibility_daily.day is 'The day of the slots in the time zone of the project.';
comment on column visibility_daily.store is 'ios_store or android_store.';
comment on column visibility_daily.list is 'keyword: over all keywords; chart: over all charts.';
comment on column visibility_daily.app_id is 'The id of the app in its store.';
comment on column visibility_daily.title is 'The title of the app, as last seen; null until a result names it.';
comment on column visibility_daily.label is 'What the project calls the app.';
comment on column visibility_daily.role is 'own or competitor, as last said.';
comment on column visibility_daily.visibility is '1 is first on every keyword, 0 within depth on none; null when none was measured.';
comment on column visibility_daily.ranked is 'Keywords (charts) on which the app was ranked that day.';
comment on column visibility_daily.measured is 'Keywords (charts) that were measured at least once that day: visibility is the average over these.';
comment on column visibility_daily.owed is 'Keywords (charts) that had a slot that day.';
comment on column visibility_daily.measured_share is 'measured, as a share of owed.';
comment on column visibility_daily.app is 'The app in the dictionary: app.id.';
--> statement-breakpoint

create or replace view coverage as
select s.project, (s.slot at time zone 'UTC')::date as day, t.function, count(*) as owed,
  count(*) filter (where s.gap is null) as captured, count(*) filter (where s.gap = 'failed') as failed,
  count(*) filter (where s.gap = 'budget') as budget, count(*) filter (where s.gap = 'missed') as missed,
  count(*) filter (where s.gap = 'html_only') as html_only, count(*) filter (where s.gap = 'pending') as pending,
  round(count(*) filter (where s.gap is null)::numeric
    / nullif(count(*) filter (where s.gap is distinct from 'pending'), 0), 4) as captured_share
from (
  select project, target_id, slot, gap from ranking_slot
  union all
  select project, target_id, slot, gap from app_slot
) s
join target t on t.id = s.target_id
group by 1, 2, 3;
--> statement-breakpoint
comment on column coverage.function is 'app_searches, app_list, app_info or app_reviews.';
--> statement-breakpoint

create or replace view app_history as
select s.project, t.store, a.app_id, a.title, a.label, a.role, coalesce(l.name, t.location_code::text) as location,
  t.location_code, t.language_code as language, s.slot, s.captured_at, s.rating, s.votes_count, s.reviews_count,
  s.price_micros * 0.000001 as price_usd, s.currency, s.version, s.installs_count,
  case when s.gap is not null then s.gap when s.found then 'measured' else 'not_found' end as outcome,
  s.reason, s.updated_at, s.every, s.target_id, s.app
from app_slot s
join target t on t.id = s.target_id
left join location l on l.store = t.store and l.code = t.location_code
join project_app a on a.project = s.project and a.app = s.app
where t.function = 'app_info';
--> statement-breakpoint

-- Not what changes by itself (rating, votes, installs), nor other apps that the page shows.
create function snapshot_facts(s app_snapshot) returns jsonb language sql stable parallel safe
return jsonb_build_object('found', s.found) || case when s.found then jsonb_build_object(
  'price', trim_scale(s.price_micros * 0.000001), 'currency', s.currency, 'is_free', s.is_free, 'version', s.version,
  'minimum_os_version', s.minimum_os_version, 'size', s.size, 'main_category', s.main_category,
  'released_at', s.released_at, 'updated_at', s.updated_at) else '{}' end;
--> statement-breakpoint
comment on function snapshot_facts(app_snapshot) is 'What a developer decides of an app, but for the texts; of an app that is not there, only that.';
--> statement-breakpoint
create function listing_facts(l listing) returns jsonb language sql immutable parallel safe
return jsonb_build_object('title', l.title, 'description', l.description, 'update_notes', l.update_notes, 'icon', l.icon,
  'images', to_jsonb(l.images)) || (l.details - array['similarApps', 'moreAppsByDeveloper']);
--> statement-breakpoint
comment on function listing_facts(listing) is 'The texts and lists that a developer gave the page of an app.';
--> statement-breakpoint

-- A fact that only one side knows is none that changed: the app was not there, or storerank did not read it yet.
create view app_change as
select p.project, t.store, a.app_id, a.title, a.label, a.role, coalesce(l.name, t.location_code::text) as location,
  t.location_code, t.language_code as language, h.slot, h.captured_at, previous.slot as previous_slot,
  lower(regexp_replace(change.field, '([A-Z])', '_\1', 'g')) as field, change.old_value, change.new_value,
  p.target_id, p.app
from watch_period p
join app_snapshot h on h.target_id = p.target_id and h.gap is null and is_shown(p, h.slot, h.gap)
join target t on t.id = p.target_id
left join location l on l.store = t.store and l.code = t.location_code
join project_app a on a.project = p.project and a.app = p.app
cross join lateral (
  select s as snapshot, s.slot, s.listing_hash from app_snapshot s
  where s.target_id = p.target_id and s.slot < h.slot and s.gap is null and exists (
    select from watch_period other
    where other.target_id = p.target_id and other.project = p.project and is_shown(other, s.slot, s.gap)
  )
  order by s.slot desc
  limit 1
) previous
cross join lateral (
  select key as field, o.value #>> '{}' as old_value, n.value #>> '{}' as new_value
  from jsonb_each(snapshot_facts(previous.snapshot)) o
  join jsonb_each(snapshot_facts(h)) n using (key)
  where o.value <> n.value
  union all
  select key, o.value #>> '{}', n.value #>> '{}'
  from listing old
  cross join listing new
  cross join jsonb_each(listing_facts(old)) o
  join jsonb_each(listing_facts(new)) n using (key)
  where old.hash = previous.listing_hash and new.hash = h.listing_hash and old.hash <> new.hash and o.value <> n.value
) change
where p.kind = 'app';
--> statement-breakpoint
comment on view app_change is
  'What changed on the page of a watched app from one measurement to the next: one row per field. Not rating, votes, reviews and installs, which app_history has.';
comment on column app_change.project is 'The project.';
comment on column app_change.store is 'ios_store or android_store.';
comment on column app_change.app_id is 'The id of the app in its store.';
comment on column app_change.title is 'The title of the app, as last seen; null until a result names it.';
comment on column app_change.label is 'What the project calls the app.';
comment on column app_change.role is 'own or competitor, as last said.';
comment on column app_change.location is 'The name of the location; its code until the references are loaded.';
comment on column app_change.location_code is 'The code of the location at the service.';
comment on column app_change.language is 'The language code.';
comment on column app_change.slot is 'The slot of the measurement that shows the new value.';
comment on column app_change.captured_at is 'When that was measured.';
comment on column app_change.previous_slot is 'The slot of the measurement before it, which shows the old value.';
comment on column app_change.field is 'What changed: title, description, version, price, images, …; found when the app left the store or came back.';
comment on column app_change.old_value is 'What it was; a list as JSON, null for nothing.';
comment on column app_change.new_value is 'What it is; a list as JSON, null for nothing.';
comment on column app_change.target_id is 'The measured target: what ranking, task and charge call it.';
comment on column app_change.app is 'The app in the dictionary: app.id.';
--> statement-breakpoint

-- By app alone: a review has one row, whichever of the places that show it was measured first.
create view app_review as
select w.project, a.store, a.app_id, a.title as app_title, a.label, a.role,
  coalesce(l.name, r.location_code::text) as location, r.location_code, r.language_code as language, r.written_at,
  r.rating, r.title, r.text, r.author, r.version, r.first_seen_at, r.last_seen_at, r.review_id, r.app
from (select distinct project, app from watch_period where kind = 'reviews') w
join project_app a on a.project = w.project and a.app = w.app
join review r on r.app = w.app
left join location l on l.store = a.store and l.code = r.location_code;
--> statement-breakpoint
comment on view app_review is
  'The reviews of the apps whose reviews a project follows or has followed, each once. Those of the last days: where written_at > now() - interval ''7 days''.';
comment on column app_review.project is 'The project.';
comment on column app_review.store is 'ios_store: the other one gives no reviews.';
comment on column app_review.app_id is 'The id of the app in its store.';
comment on column app_review.app_title is 'The title of the app, as last seen; null until a result names it.';
comment on column app_review.label is 'What the project calls the app.';
comment on column app_review.role is 'own or competitor, as last said.';
comment on column app_review.location is 'The name of the location where it was first measured; its code until the references are loaded.';
comment on column app_review.location_code is 'The code of the location at the service.';
comment on column app_review.language is 'The language code with which it was first measured.';
comment on column app_review.written_at is 'When it was written, as the store says.';
comment on column app_review.rating is 'The stars that this review gives.';
comment on column app_review.title is 'The title of the review.';
comment on column app_review.text is 'The text of the review, as it was last seen.';
comment on column app_review.author is 'Who wrote it.';
comment on column app_review.version is 'The version of the app that it is about.';
comment on column app_review.first_seen_at is 'When it was first measured.';
comment on column app_review.last_seen_at is 'When it was last measured: older ones fall out of the depth that is asked for.';
comment on column app_review.review_id is 'The id of the review in the store.';
comment on column app_review.app is 'The app in the dictionary: app.id.';
--> statement-breakpoint

-- The name that a misspelt one most likely meant: most pairs of letters in common, at least three in five. In plain SQL,
-- because no extension for it is everywhere.
create function nearest_name(meant text, names text[]) returns text language sql immutable parallel safe
return (
  select n.name
  from unnest(names) with ordinality n (name, place)
  cross join lateral (
    select count(*) as shared from generate_series(1, char_length(meant) - 1) i
    where position(substr(lower(meant), i, 2) in lower(n.name)) > 0
  ) pairs
  where pairs.shared >= 0.6 * (char_length(meant) - 1)
  order by pairs.shared::float8 / (char_length(meant) + char_length(n.name)) desc, n.place
  limit 1
);
--> statement-breakpoint
comment on function nearest_name(text, text[]) is 'The name that is nearest to what was meant, of several the first; null when none is near.';
--> statement-breakpoint

create function dollars(micros bigint) returns text language sql immutable parallel safe
return case when micros < 0 then '-' else '' end || '$' || to_char(abs(micros) * 0.000001, 'FM9999999999990.009999');
--> statement-breakpoint
comment on function dollars(bigint) is 'Money as a person reads it: at least two decimals, and no zeros after what counts.';
--> statement-breakpoint

-- An app_watch has two parts; what is wrong with the whole row is said by the first. All look-ups go by the key of one watch,
-- target or slot.
create or replace view watch_problem as
select w.watch_table, w.watch_id, w.project, w.store, w.subject, problem.problem,
  case w.kind when 'reviews' then 'Reviews: ' || problem.message else problem.message end as message
from (
  select 'keyword_watch' as watch_table, 'keyword' as kind, 'app_searches' as function, true as is_measured,
    true as needs_place, k.id as watch_id, k.project, k.store, k.keyword as subject, null as category, k.location_code,
    k.location_name, k.language_code
  from keyword_watch k
  where k.enabled
  union all
  select 'chart_watch', 'chart', 'app_list', true, true,
    c.id, c.project, c.store, c.collection, c.category, c.location_code, c.location_name, c.language_code
  from chart_watch c
  where c.enabled
  union all
  select 'app_watch', 'app', 'app_info', a.info, a.info or a.reviews,
    a.id, a.project, a.store, a.app_id, null, a.location_code, a.location_name, a.language_code
  from app_watch a
  where a.enabled
  union all
  select 'app_watch', 'reviews', 'app_reviews', true, false,
    a.id, a.project, a.store, a.app_id, null, a.location_code, a.location_name, a.language_code
  from app_watch a
  where a.enabled and a.reviews
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
    and coalesce(t.category, '') = coalesce(w.category, '')
    and t.location_code = place.code and t.language_code = w.language_code
    and other.kind = w.kind and other.project = w.project and other.ended_at is null
  limit 1
) twin on true
left join lateral (
  select h.slot, h.gap, h.reason from ranking h
  where w.kind in ('keyword', 'chart') and h.target_id = p.target_id
  order by h.slot desc limit 1
) ranked on true
left join lateral (
  select h.slot, h.gap, h.reason from app_snapshot h
  where w.kind in ('app', 'reviews') and h.target_id = p.target_id
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
  where not pr.enabled and w.kind <> 'reviews'
  union all
  select 'references_missing', format('The location "%s" is looked up when the references of %s have been loaded, which '
    'the next run does.', w.location_name, w.store)
  where w.needs_place and place.code is null and not exists (select from location l where l.store = w.store)
  union all
  select 'location_unknown', format('%s has no location called "%s".', w.store, w.location_name)
    || coalesce(' Did you mean "'
      || nearest_name(w.location_name, array(select l.name from location l where l.store = w.store order by l.code))
      || '"?', '')
    || ' Correct location_name, or give location_code instead; the table location has them all.'
  where w.needs_place and place.code is null and exists (select from location l where l.store = w.store)
  union all
  select 'location_unknown', format('%s has no location with the code %s. Correct location_code; the table location '
    'has them all.', w.store, w.location_code)
  where w.needs_place and w.location_code is not null and exists (select from location l where l.store = w.store)
    and not exists (select from location l where l.store = w.store and l.code = w.location_code)
  union all
  select 'language_unknown', format('%s has no language with the code "%s".', w.store, w.language_code)
    || coalesce((
      -- Those who write eng, ger or en-us: by the beginning of its name, or of its code.
      select format(' Did you mean "%s" (%s)?', l.code, l.name) from language l
      where l.store = w.store
        and (starts_with(lower(l.name), lower(w.language_code)) or left(l.code, 2) = left(lower(w.language_code), 2))
      order by starts_with(lower(l.name), lower(w.language_code)) desc, l.code limit 1
    ), '') || ' Correct language_code; the table language has them all.'
  where w.needs_place and exists (select from language l where l.store = w.store)
    and not exists (select from language l where l.store = w.store and l.code = w.language_code)
  union all
  select 'category_unknown', format('%s has no category called "%s".', w.store, w.category)
    || coalesce(' Did you mean "'
      || nearest_name(w.category, array(select c.name from category c where c.store = w.store order by c.name))
      || '"?', '')
    || ' Correct category, or leave it out for all of the collection; the table category has them all.'
  where w.category is not null and exists (select from category c where c.store = w.store)
    and not exists (select from category c where c.store = w.store and c.name = w.category)
  union all
  select 'followed_already', format(case when w.kind in ('app', 'reviews')
      then '%s %s of this project follows the same already: set %s = false in one of the two.'
      else '%s %s of this project follows the same already, and this row changes nothing: delete one of the two.'
    end, w.watch_table, twin.watch_id, case w.kind when 'app' then 'info' else w.kind end)
  where twin.watch_id is not null
  union all
  select case when cut.reason like 'dearer%' then 'dearer_than_budget' else 'money' end, format(
    case when cut.reason like 'dearer%'
      then 'It costs %s a time, which is more than the whole budget %s, so it is never bought: raise %s, or lower the '
        'depth or the priority of the watch.'
      else 'This slot costs %s, and the budget %s is used up: it is bought when money comes, and else becomes a gap. '
        'Raise %s, or watch less, or less often.'
      end, dollars(cut.price_micros), budget.whose, budget.setting)
  from (values
    ('%project_budget', 'of the project', 'its daily_usd or monthly_usd'),
    ('%overall_budget', 'of all projects', 'MAX_USD_PER_RUN, MAX_USD_PER_DAY, MAX_USD_PER_MONTH or the limits of the account')
  ) budget (reason, whose, setting)
  where cut.reason like budget.reason
  union all
  select 'last_slot_failed', format('The last measurement, due %s, failed: %s. The next slot is tried again; '
    'when that fails too, correct the watch.', to_char(latest.slot at time zone 'UTC', 'YYYY-MM-DD HH24:MI "UTC"'),
    coalesce(rtrim(latest.reason, '.'), 'no reason was given'))
  where latest.gap = 'failed'
) problem;
--> statement-breakpoint
comment on column watch_problem.watch_table is 'keyword_watch, chart_watch or app_watch.';
comment on column watch_problem.subject is 'The keyword, the collection, or the id of the app.';
comment on column watch_problem.problem is 'project_disabled, references_missing, location_unknown, language_unknown, category_unknown, followed_already, money, dearer_than_budget or last_slot_failed.';
--> statement-breakpoint
drop function nearest_location(text, text);
