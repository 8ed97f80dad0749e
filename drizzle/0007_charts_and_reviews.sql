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

create or replace function start_watch_period(new_period watch_period) returns void language plpgsql set enable_seqscan = off as $$
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
    new_period.role, new_period.label, new_period.every, new_period.depth, coalesce(new_period.html, false),
    new_period.priority, present, coalesce(after, first), present)
  on conflict (kind, watch_id) where ended_at is null do nothing; -- two runners may find it missing at once
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
    set depth = wanted.depth, html = coalesce(wanted.html, false), priority = wanted.priority,
      role = wanted.role, label = wanted.label
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
