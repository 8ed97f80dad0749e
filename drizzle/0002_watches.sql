-- Triggers that keep watch_period, and make the project, the target and the dictionary row of a watch.

create function location_code_of(in_store text, code integer, name text) returns integer language sql stable
return coalesce(code, (
  select l.code from location l where l.store = in_store and lower(l.name) = lower(location_code_of.name) order by l.code limit 1
));
--> statement-breakpoint
comment on function location_code_of(text, integer, text) is
  'The location of a watch as a code; null while the references do not know its name.';
--> statement-breakpoint

-- Thousands of watches come in one statement, and the plans in here are made before the first of them is there: without
-- `enable_seqscan = off` they read all the others for each (10,000 watches took 90 s).

-- Looks before it inserts: `on conflict do nothing` burns an id per existing row.
create function target_of(in_store text, in_function text, in_subject text, in_location integer, in_language text)
returns integer language plpgsql set enable_seqscan = off as $$
declare
  found_id integer;
begin
  for attempt in 1..2 loop
    select t.id into found_id from target t
    where t.store = in_store and t.function = in_function and md5(t.subject) = md5(in_subject)
      and t.location_code = in_location and t.language_code = in_language;
    exit when found_id is not null;
    insert into target (store, function, subject, location_code, language_code)
    values (in_store, in_function, in_subject, in_location, in_language)
    on conflict do nothing returning id into found_id;
    exit when found_id is not null;
  end loop;
  return found_id;
end $$;
--> statement-breakpoint

create function app_of(in_store text, in_app_id text) returns integer language plpgsql set enable_seqscan = off as $$
declare
  found_id integer;
begin
  for attempt in 1..2 loop
    select a.id into found_id from app a where a.store = in_store and a.app_id = in_app_id;
    exit when found_id is not null;
    insert into app (store, app_id) values (in_store, in_app_id) on conflict do nothing returning id into found_id;
    exit when found_id is not null;
  end loop;
  return found_id;
end $$;
--> statement-breakpoint

create function open_period(of_kind text, of_watch bigint) returns bigint language sql stable set enable_seqscan = off
return (select p.id from watch_period p where p.kind = of_kind and p.watch_id = of_watch and p.ended_at is null);
--> statement-breakpoint

create function stop_watch_period(of_kind text, of_watch bigint) returns void language sql
begin atomic
  update watch_period
  set ended_at = storerank_now(), last_slot = slot_of(every, storerank_now())
  where id = open_period(of_kind, of_watch);
end;
--> statement-breakpoint

-- Two periods of one project on one target never hold the same slot: with the same `every` the new one takes the
-- running slot over; with another it begins after the last slot of the old one. So a change of `every` shows no slot twice
-- and owes none that nobody had asked for.
-- The periods of the target are read once, by it alone: other indexes would bring all the project's periods for each.
create function start_watch_period(new_period watch_period) returns void language plpgsql set enable_seqscan = off as $$
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
    (kind, watch_id, project, target_id, app, role, label, every, depth, priority, started_at, first_slot, closed_to)
  values (new_period.kind, new_period.watch_id, new_period.project, new_period.target_id, new_period.app,
    new_period.role, new_period.label, new_period.every, new_period.depth, new_period.priority,
    present, coalesce(after, first), present)
  on conflict (kind, watch_id) where ended_at is null do nothing; -- two runners may find it missing at once
end $$;
--> statement-breakpoint

create function is_project_enabled(in_project text) returns boolean language sql stable
return exists (select from project p where p.name = in_project and p.enabled);
--> statement-breakpoint

create function start_keyword_period(w keyword_watch) returns void language plpgsql as $$
declare
  p watch_period;
  place integer := location_code_of(w.store, w.location_code, w.location_name);
begin
  if not w.enabled or place is null or not is_project_enabled(w.project) then
    return;
  end if;
  p.kind := 'keyword';
  p.watch_id := w.id;
  p.project := w.project;
  p.target_id := target_of(w.store, 'app_searches', w.keyword, place, w.language_code);
  p.every := w.every;
  p.depth := w.depth;
  p.priority := w.priority;
  perform start_watch_period(p);
end $$;
--> statement-breakpoint

-- An app is ranked on every keyword of its project, wherever they are; only its details need a place of their own.
create function start_app_period(w app_watch) returns void language plpgsql as $$
declare
  p watch_period;
  place integer := location_code_of(w.store, w.location_code, w.location_name);
begin
  if not w.enabled or (w.info and place is null) or not is_project_enabled(w.project) then
    return;
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
  p.priority := w.priority;
  perform start_watch_period(p);
end $$;
--> statement-breakpoint

-- For watches whose location became known, or whose twin is gone.
create function start_missing_watch_periods() returns void language sql
begin atomic
  select start_keyword_period(w) from keyword_watch w
  where w.enabled
    and not exists (select from watch_period p where p.kind = 'keyword' and p.watch_id = w.id and p.ended_at is null);
  select start_app_period(w) from app_watch w
  where w.enabled
    and not exists (select from watch_period p where p.kind = 'app' and p.watch_id = w.id and p.ended_at is null);
end;
--> statement-breakpoint

create function prepare_watch() returns trigger language plpgsql as $$
begin
  insert into project (name) values (new.project) on conflict do nothing;
  return new;
end $$;
--> statement-breakpoint

-- The store's default depth (spec: Limits; for android_store as the service notes assume).
create function prepare_keyword_watch() returns trigger language plpgsql as $$
begin
  new.depth := coalesce(new.depth, case new.store when 'android_store' then 30 else 100 end);
  return new;
end $$;
--> statement-breakpoint
create trigger a_project before insert or update of project on keyword_watch for each row execute function prepare_watch();
--> statement-breakpoint
create trigger a_project before insert or update of project on app_watch for each row execute function prepare_watch();
--> statement-breakpoint
create trigger b_depth before insert or update of depth on keyword_watch for each row execute function prepare_keyword_watch();
--> statement-breakpoint

-- Renaming a project cascades to its periods as well: then the period already has the new name, and goes on.
create function keep_keyword_period() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' then
    update watch_period p set depth = new.depth, priority = new.priority
    where p.id = open_period('keyword', new.id)
      and new.enabled and p.project = new.project and p.every = new.every
      and (new.store, new.keyword, new.language_code) = (old.store, old.keyword, old.language_code)
      and (new.location_code, new.location_name) is not distinct from (old.location_code, old.location_name);
    if found then
      return null;
    end if;
  end if;
  if tg_op <> 'INSERT' then
    perform stop_watch_period('keyword', old.id);
  end if;
  if tg_op <> 'DELETE' then
    perform start_keyword_period(new);
  end if;
  return null;
end $$;
--> statement-breakpoint

create function keep_app_period() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' then
    update watch_period p set priority = new.priority, role = new.role, label = new.label
    where p.id = open_period('app', new.id)
      and new.enabled and p.project = new.project and p.every = new.every and (p.target_id is not null) = new.info
      and (new.store, new.app_id) = (old.store, old.app_id)
      and (new.location_code, new.location_name, new.language_code)
        is not distinct from (old.location_code, old.location_name, old.language_code);
    if found then
      return null;
    end if;
  end if;
  if tg_op <> 'INSERT' then
    perform stop_watch_period('app', old.id);
  end if;
  if tg_op <> 'DELETE' then
    perform start_app_period(new);
  end if;
  return null;
end $$;
--> statement-breakpoint
create trigger keep_period after insert or update or delete on keyword_watch
for each row execute function keep_keyword_period();
--> statement-breakpoint
create trigger keep_period after insert or update or delete on app_watch
for each row execute function keep_app_period();
--> statement-breakpoint

-- `truncate` fires no row trigger.
create function stop_all_periods() returns trigger language plpgsql as $$
begin
  update watch_period set ended_at = storerank_now(), last_slot = slot_of(every, storerank_now())
  where kind = tg_argv[0] and ended_at is null;
  return null;
end $$;
--> statement-breakpoint
create trigger stop_periods after truncate on keyword_watch
for each statement execute function stop_all_periods('keyword');
--> statement-breakpoint
create trigger stop_periods after truncate on app_watch
for each statement execute function stop_all_periods('app');
--> statement-breakpoint

create function keep_project_periods() returns trigger language plpgsql as $$
begin
  if new.enabled then
    perform start_keyword_period(w) from keyword_watch w where w.project = new.name;
    perform start_app_period(w) from app_watch w where w.project = new.name;
  else
    update watch_period set ended_at = storerank_now(), last_slot = slot_of(every, storerank_now())
    where project = new.name and ended_at is null;
  end if;
  return null;
end $$;
--> statement-breakpoint
create trigger keep_periods after update of enabled on project
for each row when (old.enabled is distinct from new.enabled) execute function keep_project_periods();
