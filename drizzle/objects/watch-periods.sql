-- Triggers on the watches keep watch_period, and make the target and the row of app that a period points at.
--
-- Thousands of watches may be inserted in one statement, and the plans of these functions are made before the first of them is there:
-- without `enable_seqscan = off` they read all watches for each one (10,000 watches took 90 s).

create or replace function location_code_of(in_store text, code integer, name text) returns integer
language sql stable security definer set search_path = public, pg_temp
return coalesce(code, (
  select l.code from location l
  where l.store = in_store and lower(l.name collate "C") = lower(location_code_of.name collate "C")
  order by l.code limit 1
));
comment on function location_code_of(text, integer, text) is
  'The location of a watch as a code; null while the references do not know its name.';
revoke execute on function location_code_of(text, integer, text) from public;
grant execute on function location_code_of(text, integer, text) to storerank_editor, storerank_reader;

create or replace function is_project_enabled(in_project text) returns boolean language sql stable
return exists (select from project p where p.name = in_project and p.enabled);
comment on function is_project_enabled(text) is 'Whether a project is measured.';

-- Selects before it inserts: `on conflict do nothing` uses up an id of the sequence per existing row.
create or replace function target_of(
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
comment on function target_of(text, text, text, integer, text, text) is 'The id of a target, which is made when it is missing.';
revoke execute on function target_of(text, text, text, integer, text, text) from public;

create or replace function app_of(in_store text, in_app_id text) returns integer
language plpgsql set enable_seqscan = off as $$
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
comment on function app_of(text, text) is 'The number of an app in the dictionary, which is made when it is missing.';
revoke execute on function app_of(text, text) from public;

create or replace function open_period(of_kind text, of_watch bigint) returns bigint
language sql stable set enable_seqscan = off
return (select p.id from watch_period p where p.kind = of_kind and p.watch_id = of_watch and p.ended_at is null);
comment on function open_period(text, bigint) is 'The id of the open period of a watch; null when it has none.';

create or replace function stop_watch_period(of_kind text, of_watch bigint) returns void language sql
begin atomic
  update watch_period
  set ended_at = storerank_now(), last_slot = slot_of(every, storerank_now())
  where id = open_period(of_kind, of_watch);
end;
comment on function stop_watch_period(text, bigint) is 'Ends the open period of a watch.';
revoke execute on function stop_watch_period(text, bigint) from public;

-- Two periods of one project on one target never hold the same slot: with the same `every` the new period takes the
-- running slot over; with another `every` it begins after the last slot of the old one. So a change of `every` shows no slot
-- twice, and owes none that no watch had asked for.
-- The periods of the target are read once, by the target alone: any other index would read all periods of the project for
-- each watch.
create or replace function start_watch_period(
  of_kind text, of_watch bigint, in_project text, on_target integer, of_app integer, in_role text, in_label text,
  in_every interval, in_depth smallint, in_html boolean, in_priority smallint
) returns void language plpgsql set enable_seqscan = off as $$
declare
  present timestamptz := storerank_now();
  first timestamptz := slot_of(in_every, present);
  same bigint[];
  is_followed boolean;
  after timestamptz;
begin
  -- Seconds, because `+ '1 day'` adds 23 or 25 hours where the session's time zone changes its clocks.
  select array_agg(p.id), bool_or(p.ended_at is null),
    max(slot_of(in_every, p.last_slot) + make_interval(secs => extract(epoch from in_every)))
      filter (where p.every <> in_every and p.last_slot >= first)
  into same, is_followed, after
  from (select * from watch_period t where t.target_id = on_target offset 0) p
  where p.project = in_project and p.kind = of_kind;
  if is_followed then
    return; -- another watch of the project follows it already: watch_problem says so
  end if;
  if after is null then
    update watch_period p set last_slot = first - interval '1 microsecond'
    where p.id = any(same) and p.last_slot >= first;
  end if;
  insert into watch_period
    (kind, watch_id, project, target_id, app, role, label, every, depth, html, priority, started_at, first_slot, closed_to)
  values (of_kind, of_watch, in_project, on_target, of_app, in_role, in_label, in_every, in_depth, in_html, in_priority,
    present, coalesce(after, first), present)
  on conflict do nothing; -- two runners may find it missing at once, and two people may follow one target at once
end $$;
comment on function start_watch_period(
  text, bigint, text, integer, integer, text, text, interval, smallint, boolean, smallint
) is 'Opens a period of a watch, unless another watch of the project follows the same.';
revoke execute on function start_watch_period(
  text, bigint, text, integer, integer, text, text, interval, smallint, boolean, smallint
) from public;

-- The open period goes on while project, target and `every` of the watch stay the same; other changes are written into it. Renaming a
-- project cascades to its periods first, so that they have the new name here.
create or replace function keep_watch_period(
  of_kind text, of_watch bigint, in_project text, on_target integer, of_app integer, in_role text, in_label text,
  in_every interval, in_depth smallint, in_html boolean, in_priority smallint
) returns void language plpgsql set enable_seqscan = off as $$
declare
  open_id bigint := open_period(of_kind, of_watch);
begin
  if open_id is not null then
    update watch_period p
    set depth = in_depth, html = in_html, priority = in_priority, role = in_role, label = in_label
    where p.id = open_id and p.project = in_project and p.every = in_every
      and (p.target_id, p.app) is not distinct from (on_target, of_app);
    if found then
      return;
    end if;
    perform stop_watch_period(of_kind, of_watch);
  end if;
  perform start_watch_period(of_kind, of_watch, in_project, on_target, of_app, in_role, in_label, in_every, in_depth,
    in_html, in_priority);
end $$;
comment on function keep_watch_period(
  text, bigint, text, integer, integer, text, text, interval, smallint, boolean, smallint
) is 'Keeps the open period of a watch when the watch asks for the same as before; else ends it and opens another.';
revoke execute on function keep_watch_period(
  text, bigint, text, integer, integer, text, text, interval, smallint, boolean, smallint
) from public;

-- Brings the open period of each watch to what the watch asks for now. A watch that is disabled, or whose location is not known yet,
-- has no open period. The watch comes as its id and not as a row: PostgreSQL does not let some columns of a table
-- be changed while a function takes the type of its rows.
create or replace function follow_keyword_watch(of_watch bigint) returns void
language plpgsql set enable_seqscan = off as $$
declare
  w record;
  place integer;
begin
  select * into w from keyword_watch k where k.id = of_watch;
  place := location_code_of(w.store, w.location_code, w.location_name);
  if w.enabled and place is not null and is_project_enabled(w.project) then
    perform keep_watch_period('keyword', w.id, w.project,
      target_of(w.store, 'app_searches', w.keyword, place, w.language_code), null, null, null,
      w.every, w.depth, w.html, w.priority);
  else
    perform stop_watch_period('keyword', of_watch);
  end if;
end $$;
comment on function follow_keyword_watch(bigint) is 'Brings the open period of a keyword watch to what the watch asks for.';
revoke execute on function follow_keyword_watch(bigint) from public;

create or replace function follow_chart_watch(of_watch bigint) returns void
language plpgsql set enable_seqscan = off as $$
declare
  w record;
  place integer;
begin
  select * into w from chart_watch c where c.id = of_watch;
  place := location_code_of(w.store, w.location_code, w.location_name);
  if w.enabled and place is not null and is_project_enabled(w.project) then
    perform keep_watch_period('chart', w.id, w.project,
      target_of(w.store, 'app_list', w.collection, place, w.language_code, w.category), null, null, null,
      w.every, w.depth, w.html, w.priority);
  else
    perform stop_watch_period('chart', of_watch);
  end if;
end $$;
comment on function follow_chart_watch(bigint) is 'Brings the open period of a chart watch to what the watch asks for.';
revoke execute on function follow_chart_watch(bigint) from public;

-- An app is ranked on all keywords and charts of its project in the same store; only its page and reviews need a location of their own.
create or replace function follow_app_watch(of_watch bigint) returns void
language plpgsql set enable_seqscan = off as $$
declare
  w record;
  place integer;
begin
  select * into w from app_watch a where a.id = of_watch;
  place := location_code_of(w.store, w.location_code, w.location_name);
  if w.enabled and (place is not null or not w.info) and is_project_enabled(w.project) then
    perform keep_watch_period('app', w.id, w.project,
      case when w.info then target_of(w.store, 'app_info', w.app_id, place, w.language_code) end,
      app_of(w.store, w.app_id), w.role, w.label, w.every, null, w.html, w.priority);
  else
    perform stop_watch_period('app', of_watch);
  end if;
end $$;
comment on function follow_app_watch(bigint) is 'Brings the open period of an app watch to what the watch asks for.';
revoke execute on function follow_app_watch(bigint) from public;

-- Pages (html) are offered for android_store alone, which has no reviews.
create or replace function follow_app_reviews(of_watch bigint) returns void
language plpgsql set enable_seqscan = off as $$
declare
  w record;
  place integer;
begin
  select * into w from app_watch a where a.id = of_watch;
  place := location_code_of(w.store, w.location_code, w.location_name);
  if w.enabled and w.reviews and place is not null and is_project_enabled(w.project) then
    perform keep_watch_period('reviews', w.id, w.project,
      target_of(w.store, 'app_reviews', w.app_id, place, w.language_code), app_of(w.store, w.app_id), null, null,
      w.every, w.reviews_depth, false, w.priority);
  else
    perform stop_watch_period('reviews', of_watch);
  end if;
end $$;
comment on function follow_app_reviews(bigint) is 'Brings the open period of the reviews of an app watch to what the watch asks for.';
revoke execute on function follow_app_reviews(bigint) from public;

create or replace function keep_keyword_period() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if tg_op = 'DELETE' or old.id <> new.id then
    perform stop_watch_period('keyword', old.id);
  end if;
  if tg_op <> 'DELETE' then
    perform follow_keyword_watch(new.id);
  end if;
  return null;
end $$;
comment on function keep_keyword_period() is 'Keeps the period of a keyword watch that was written.';
revoke execute on function keep_keyword_period() from public;

create or replace trigger keep_period after insert or update or delete on keyword_watch
for each row execute function keep_keyword_period();

create or replace function keep_chart_period() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if tg_op = 'DELETE' or old.id <> new.id then
    perform stop_watch_period('chart', old.id);
  end if;
  if tg_op <> 'DELETE' then
    perform follow_chart_watch(new.id);
  end if;
  return null;
end $$;
comment on function keep_chart_period() is 'Keeps the period of a chart watch that was written.';
revoke execute on function keep_chart_period() from public;

create or replace trigger keep_period after insert or update or delete on chart_watch
for each row execute function keep_chart_period();

create or replace function keep_app_period() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if tg_op = 'DELETE' or old.id <> new.id then
    perform stop_watch_period('app', old.id);
    perform stop_watch_period('reviews', old.id);
  end if;
  if tg_op <> 'DELETE' then
    perform follow_app_watch(new.id);
    perform follow_app_reviews(new.id);
  end if;
  return null;
end $$;
comment on function keep_app_period() is 'Keeps the periods of an app watch that was written.';
revoke execute on function keep_app_period() from public;

create or replace trigger keep_period after insert or update or delete on app_watch
for each row execute function keep_app_period();

-- For watches whose location became known, or whose twin is gone.
create or replace function start_missing_watch_periods() returns void language sql
begin atomic
  select follow_keyword_watch(w.id) from keyword_watch w
  where w.enabled
    and not exists (select from watch_period p where p.kind = 'keyword' and p.watch_id = w.id and p.ended_at is null);
  select follow_chart_watch(w.id) from chart_watch w
  where w.enabled
    and not exists (select from watch_period p where p.kind = 'chart' and p.watch_id = w.id and p.ended_at is null);
  select follow_app_watch(w.id) from app_watch w
  where w.enabled
    and not exists (select from watch_period p where p.kind = 'app' and p.watch_id = w.id and p.ended_at is null);
  select follow_app_reviews(w.id) from app_watch w
  where w.enabled and w.reviews
    and not exists (select from watch_period p where p.kind = 'reviews' and p.watch_id = w.id and p.ended_at is null);
end;
comment on function start_missing_watch_periods() is 'Opens the periods of all watches that ask for something and have none.';
revoke execute on function start_missing_watch_periods() from public;

-- `truncate` fires no row trigger.
create or replace function stop_all_periods() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  update watch_period set ended_at = storerank_now(), last_slot = slot_of(every, storerank_now())
  where kind = any(tg_argv) and ended_at is null;
  return null;
end $$;
comment on function stop_all_periods() is 'Ends all open periods of the kinds in its arguments.';
revoke execute on function stop_all_periods() from public;

create or replace trigger stop_periods after truncate on keyword_watch
for each statement execute function stop_all_periods('keyword');

create or replace trigger stop_periods after truncate on chart_watch
for each statement execute function stop_all_periods('chart');

create or replace trigger stop_periods after truncate on app_watch
for each statement execute function stop_all_periods('app', 'reviews');

create or replace function keep_project_periods() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if new.enabled then
    perform start_missing_watch_periods();
  else
    update watch_period set ended_at = storerank_now(), last_slot = slot_of(every, storerank_now())
    where project = new.name and ended_at is null;
  end if;
  return null;
end $$;
comment on function keep_project_periods() is 'Ends the periods of a project that was disabled, and opens them when it is enabled again.';
revoke execute on function keep_project_periods() from public;

create or replace trigger keep_periods after update of enabled on project
for each row when (old.enabled is distinct from new.enabled) execute function keep_project_periods();
