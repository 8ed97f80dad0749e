-- Triggers keep watch_period, and make the targets and the rows of app that periods point at: once per statement, however many rows it
-- wrote, and the same for all kinds of watches.

-- Selects before it inserts: `on conflict do nothing` uses up an id of the sequence per existing row.
create or replace function target_of(
  in_store text, in_function text, in_subject text, in_location integer, in_language text, in_category text default null
) returns integer language plpgsql set enable_seqscan = off as $$
declare
  found_id integer;
begin
  for attempt in 1..2 loop
    select t.id into found_id from target t
    where t.store = in_store and t.function = in_function and subject_key(t.subject) = subject_key(in_subject)
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
comment on function target_of(text, text, text, integer, text, text) is
  'The id of one target, which is made when it is missing. Watches make theirs many at once: make_targets.';
revoke execute on function target_of(text, text, text, integer, text, text) from public;

-- Plans that do not stand on statistics, which are missing after a bulk load: a few watches are looked up by indexes alone, in plans
-- that a session keeps; many are joined by hash, in plans of their own. Nested loops over many would read all watches for each one, and so
-- would a merge join by the project alone, which the planner likes because an index has that order.
-- A function that calls it has these settings in its own definition, so that they end with it.
create or replace function plan_for(watches integer) returns void language plpgsql as $$
begin
  -- A period takes about 150 bytes: an eighth of them is worth reading all.
  if watches > 1000 and watches > pg_relation_size('watch_period') / 1200 then
    perform set_config('plan_cache_mode', 'force_custom_plan', true), set_config('enable_nestloop', 'off', true),
      set_config('enable_mergejoin', 'off', true);
  else
    perform set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_seqscan', 'off', true),
      set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true);
  end if;
end $$;
comment on function plan_for(integer) is 'Has the statements of the calling function planned for so many watches.';
revoke execute on function plan_for(integer) from public;

-- Parts of watches that are asked for, with the target and the app that they point at. Inlined, so that it takes the plan of its caller.
create or replace function asked_parts(of_kind text, of_watches bigint[])
returns table (
  watch_id bigint, project text, target_id integer, app integer, role text, label text, every interval, depth integer, html boolean,
  priority integer
)
language sql stable
begin atomic
  select w.watch_id, w.project, t.id, a.id, w.role, w.label, w.every, w.depth, w.html, w.priority
  from unnest(of_watches) i (id)
  join watch_part w on w.watch_id = i.id
  left join target t on t.store = w.store and t.function = w.function and subject_key(t.subject) = subject_key(w.subject)
    and coalesce(t.category, '') = coalesce(w.category, '')
    and t.location_code = w.location_code and t.language_code = w.language_code
  left join app a on a.store = w.store and a.app_id = w.app_id
  where w.kind = of_kind and w.is_asked;
end;
comment on function asked_parts(text, bigint[]) is 'What some watches of a kind ask for now, as rows of watch_period have it.';
revoke execute on function asked_parts(text, bigint[]) from public;

-- Anti-joins before it inserts, for the same reason. In one order, so that two
-- statements that make the same rows wait for each other and never deadlock.
create or replace function make_targets(of_kind text, of_watches bigint[]) returns void language plpgsql as $$
begin
  insert into app (store, app_id)
  select distinct w.store, w.app_id
  from unnest(of_watches) i (id)
  join watch_part w on w.watch_id = i.id
  where w.kind = of_kind and w.is_asked and w.app_id is not null
    and not exists (select from app a where a.store = w.store and a.app_id = w.app_id)
  order by 1, 2
  on conflict do nothing;

  insert into target (store, function, subject, category, location_code, language_code)
  select distinct w.store, w.function, w.subject, w.category, w.location_code, w.language_code
  from unnest(of_watches) i (id)
  join watch_part w on w.watch_id = i.id
  where w.kind = of_kind and w.is_asked and w.function is not null and not exists (
    select from target t
    where t.store = w.store and t.function = w.function and subject_key(t.subject) = subject_key(w.subject)
      and coalesce(t.category, '') = coalesce(w.category, '')
      and t.location_code = w.location_code and t.language_code = w.language_code
  )
  order by 3, 5, 6, 1, 2, 4
  on conflict do nothing;
end $$;
comment on function make_targets(text, bigint[]) is 'Makes the targets and apps that some watches of a kind ask for and that are missing.';
revoke execute on function make_targets(text, bigint[]) from public;

-- The open period goes on while project, target, app and `every` stay the same; other changes are written into it. Renaming a project
-- renames its periods first, so that they have the new name here.
create or replace function keep_open_periods(of_kind text, of_watches bigint[]) returns void language plpgsql as $$
begin
  with ended as (
    update watch_period p set ended_at = storerank_now(), last_slot = slot_of(p.every, storerank_now())
    from unnest(of_watches) i (id)
    where p.kind = of_kind and p.watch_id = i.id and p.ended_at is null and not exists (
      select from asked_parts(of_kind, of_watches) w
      where w.watch_id = p.watch_id and w.project = p.project and w.every = p.every
        and (w.target_id, w.app) is not distinct from (p.target_id, p.app)
    )
    returning p.id
  )
  insert into period_due (work, period_id, at)
  select work, id, storerank_now() from ended cross join (values ('close'), ('open')) w (work);

  update watch_period p set depth = w.depth, html = w.html, priority = w.priority, role = w.role, label = w.label
  from asked_parts(of_kind, of_watches) w
  where p.kind = of_kind and p.watch_id = w.watch_id and p.ended_at is null
    and (p.depth, p.html, p.priority, p.role, p.label) is distinct from (w.depth, w.html, w.priority, w.role, w.label);
end $$;
comment on function keep_open_periods(text, bigint[]) is
  'Ends the open periods of watches that ask for something else now, and brings the others to what their watches ask for.';
revoke execute on function keep_open_periods(text, bigint[]) from public;

-- Two periods of one project on one target never hold the same slot: with the same `every` the new period takes the
-- running slot over; with another `every` it begins after the last slot of the old one. So a change of `every` shows no slot
-- twice, and owes none that no watch had asked for. Of several watches of a project on one target the oldest is followed: watch_problem
-- names the others.
create or replace function start_periods(of_kind text, of_watches bigint[]) returns void language plpgsql as $$
declare
  present timestamptz := storerank_now();
begin
  with asked as (
    select w.*, slot_of(w.every, present) as first
    from asked_parts(of_kind, of_watches) w
    where not exists (select from watch_period p where p.kind = of_kind and p.watch_id = w.watch_id and p.ended_at is null)
  ), earlier as (
    -- Seconds, because `+ '1 day'` adds 23 or 25 hours where the session's time zone changes its clocks.
    select a.watch_id, a.project, a.target_id, a.first, bool_or(p.ended_at is null) as is_followed,
      max(slot_of(a.every, p.last_slot) + make_interval(secs => extract(epoch from a.every)))
        filter (where p.every <> a.every and p.last_slot >= a.first) as after,
      row_number() over (partition by a.project, a.target_id order by a.watch_id) as place
    from asked a
    -- Concatenated, so that no plan without statistics reads all periods of the project for each: it goes by the target.
    join watch_period p on p.target_id = a.target_id and p.project || '' = a.project and p.kind = of_kind
    group by a.watch_id, a.project, a.target_id, a.first
  ), taken_over as (
    update watch_period p set last_slot = e.first - interval '1 microsecond'
    from earlier e
    where e.place = 1 and not e.is_followed and e.after is null
      and p.target_id = e.target_id and p.project || '' = e.project and p.kind = of_kind and p.last_slot >= e.first
  ), started as (
    insert into watch_period
      (kind, watch_id, project, target_id, app, role, label, every, depth, html, priority, started_at, first_slot, closed_to)
    select of_kind, a.watch_id, a.project, a.target_id, a.app, a.role, a.label, a.every, a.depth, a.html, a.priority, present,
      coalesce(e.after, a.first), present
    from asked a
    left join earlier e on e.watch_id = a.watch_id
    where e.is_followed is not true
    order by a.target_id, a.watch_id
    -- Of several rows of this statement the oldest comes first; and two runners may find it missing at once, or two people follow one
    -- target at once.
    on conflict do nothing
    returning id, target_id, every, first_slot
  )
  insert into period_due (work, period_id, at)
  select w.work, s.id, case w.work when 'plan' then s.first_slot else slot_end(s.every, s.first_slot) end
  from started s cross join (values ('plan'), ('close')) w (work)
  where s.target_id is not null;
end $$;
comment on function start_periods(text, bigint[]) is
  'Opens the periods of watches that have none, unless another watch of the project follows the same.';
revoke execute on function start_periods(text, bigint[]) from public;

-- The ids of watches, because a function that takes the rows of a table keeps PostgreSQL from changing some of its columns. What the
-- watches ask for is read from their tables, so that it does not matter which statement wrote them last.
create or replace function follow_watches(of_kind text, of_watches bigint[]) returns void language plpgsql
set jit = off set plan_cache_mode = auto set enable_nestloop = on set enable_seqscan = on set enable_hashjoin = on set enable_mergejoin = on as $$
begin
  if cardinality(of_watches) = 0 then
    return;
  end if;
  perform plan_for(cardinality(of_watches));
  perform make_targets(of_kind, of_watches);
  if exists (
    select from unnest(of_watches) i (id)
    join watch_period p on p.kind = of_kind and p.watch_id = i.id and p.ended_at is null
  ) then
    perform keep_open_periods(of_kind, of_watches);
  end if;
  perform start_periods(of_kind, of_watches);
end $$;
comment on function follow_watches(text, bigint[]) is 'Brings the open periods of watches of a kind to what the watches ask for.';
revoke execute on function follow_watches(text, bigint[]) from public;

create or replace function keep_periods() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
declare
  written bigint[];
  of_kind text;
begin
  if tg_op = 'INSERT' then
    written := array(select id from fresh);
  elsif tg_op = 'DELETE' then
    written := array(select id from stale);
  else
    written := array(select id from fresh union select id from stale);
  end if;
  foreach of_kind in array tg_argv loop
    perform follow_watches(of_kind, written);
  end loop;
  return null;
end $$;
comment on function keep_periods() is 'Keeps the periods of the watches that a statement wrote, of the kinds in its arguments.';
revoke execute on function keep_periods() from public;

create or replace trigger keep_periods_of_inserted after insert on keyword_watch
referencing new table as fresh for each statement execute function keep_periods('keyword');

create or replace trigger keep_periods_of_updated after update on keyword_watch
referencing old table as stale new table as fresh for each statement execute function keep_periods('keyword');

create or replace trigger keep_periods_of_deleted after delete on keyword_watch
referencing old table as stale for each statement execute function keep_periods('keyword');

create or replace trigger keep_periods_of_inserted after insert on chart_watch
referencing new table as fresh for each statement execute function keep_periods('chart');

create or replace trigger keep_periods_of_updated after update on chart_watch
referencing old table as stale new table as fresh for each statement execute function keep_periods('chart');

create or replace trigger keep_periods_of_deleted after delete on chart_watch
referencing old table as stale for each statement execute function keep_periods('chart');

create or replace trigger keep_periods_of_inserted after insert on app_watch
referencing new table as fresh for each statement execute function keep_periods('app', 'reviews');

create or replace trigger keep_periods_of_updated after update on app_watch
referencing old table as stale new table as fresh for each statement execute function keep_periods('app', 'reviews');

create or replace trigger keep_periods_of_deleted after delete on app_watch
referencing old table as stale for each statement execute function keep_periods('app', 'reviews');

-- For watches whose location became known, or whose twin is gone.
create or replace function start_missing_watch_periods(of_projects text[] default null) returns void language plpgsql as $$
declare
  of_kind text;
begin
  foreach of_kind in array array['keyword', 'chart', 'app', 'reviews'] loop
    perform follow_watches(of_kind, array(
      select w.watch_id from watch_part w
      where w.kind = of_kind and w.is_asked and (of_projects is null or w.project = any(of_projects))
        and not exists (select from watch_period p where p.kind = of_kind and p.watch_id = w.watch_id and p.ended_at is null)
    ));
  end loop;
end $$;
comment on function start_missing_watch_periods(text[]) is
  'Opens the periods of the watches that ask for something and have none, of some projects or of all.';
revoke execute on function start_missing_watch_periods(text[]) from public;

-- Another watch of the project may ask for what a watch followed that is gone now. The first call, also after a crash, looks at all.
create or replace function start_twins_of_ended() returns void language plpgsql as $$
declare
  projects text[];
begin
  if not exists (select from interval_progress where work = 'open') then
    perform begin_progress('open'), start_missing_watch_periods();
    return;
  end if;
  with due as (delete from period_due where work = 'open' returning period_id)
  select array_agg(distinct p.project) into projects from due d join watch_period p on p.id = d.period_id;
  if projects is not null then
    perform start_missing_watch_periods(projects);
  end if;
end $$;
comment on function start_twins_of_ended() is
  'Opens the periods of watches whose twin in the same project has ended since the last call.';
revoke execute on function start_twins_of_ended() from public;

-- `truncate` has no transition tables.
create or replace function stop_all_periods() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  with ended as (
    update watch_period set ended_at = storerank_now(), last_slot = slot_of(every, storerank_now())
    where kind = any(tg_argv) and ended_at is null returning id
  )
  insert into period_due (work, period_id, at) select 'close', id, storerank_now() from ended;
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
    perform start_missing_watch_periods(array[new.name]);
  else
    with ended as (
      update watch_period set ended_at = storerank_now(), last_slot = slot_of(every, storerank_now())
      where project = new.name and ended_at is null returning id
    )
    insert into period_due (work, period_id, at) select 'close', id, storerank_now() from ended;
  end if;
  return null;
end $$;
comment on function keep_project_periods() is 'Ends the periods of a project that was disabled, and opens them when it is enabled again.';
revoke execute on function keep_project_periods() from public;

create or replace trigger keep_periods after update of enabled on project
for each row when (old.enabled is distinct from new.enabled) execute function keep_project_periods();
