-- Triggers keep watch_period, and make the targets and the rows of app that periods point at: once per
-- statement, however many rows it wrote, and the same for all kinds of watches.

-- Selects before it inserts: `on conflict do nothing` uses up an id of the sequence per existing row.
--- The id of one target, which is made when it is missing. Watches make theirs many at once: start_periods.
create or replace function target_of(
  in_store text, in_function text, in_subject text, in_location integer, in_language text,
    in_category text default null
) returns integer language plpgsql set enable_seqscan = off as $$
declare
  found_id integer;
begin
  for attempt in 1..2 loop
    select t.id into found_id from target t
    where t.store = in_store and t.function = in_function
      and subject_key(t.subject) collate "C" = subject_key(in_subject)
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

-- A store does not tell apart what differs in capitals alone. Most keywords are in small letters, and the
-- index of targets with capitals is small.
create or replace function keyword_targets(
  in_store text, in_keyword text, in_location integer, in_language text
) returns table (id integer, subject text) language sql stable
begin atomic
  select t.id, t.subject from target t
  where t.store = in_store and t.function = 'app_searches' and t.location_code = in_location
    and t.language_code = in_language
    and subject_key(t.subject) collate "C" in (subject_key(in_keyword),
      subject_key(folded_subject(in_keyword)))
  union all
  select t.id, t.subject from target t
  where t.store = in_store and t.function = 'app_searches' and t.location_code = in_location
    and t.language_code = in_language and t.subject <> folded_subject(t.subject)
    and folded_subject(t.subject) = folded_subject(in_keyword) and t.subject <> in_keyword;
end;

create or replace function keyword_target(
  in_store text, in_keyword text, in_location integer, in_language text
) returns integer language sql volatile
return coalesce((
    select t.id from keyword_targets(in_store, in_keyword, in_location, in_language) t
    order by t.subject = in_keyword desc, t.subject = folded_subject(in_keyword) desc, t.id limit 1
  ), target_of(in_store, 'app_searches', in_keyword, in_location, in_language));

create or replace function is_followed(in_target integer) returns boolean language sql stable
return exists (
  select from watch_period p
  where p.target_id = in_target and coalesce(p.ended_at, 'infinity') = 'infinity'
);

-- A spelling has the target that another one is followed by already, or was, where it has none of its own.
-- Each optimization fence keeps the planner from joining: it looks up one row by its key, for one watch as
-- for a million. Statistics are missing after a bulk load, and with a wrong guess each watch reads all
-- others.
--- What watches of a kind ask for now, as rows of watch_period have it, one for each that asks for anything.
create or replace function asked_parts(of_kind text, of_watches bigint[])
returns table (
  watch_id bigint, project text, store text, function text, subject text, category text,
  location_code integer, language_code text, app_id text, target_id integer, app integer, role text,
  label text, every interval, depth integer, html boolean, priority integer
) language sql stable
begin atomic
  select w.watch_id, w.project, w.store, w.function, w.subject, w.category, w.location_code,
    w.language_code, w.app_id, case when other.is_open or t.id is null then other.id else t.id end, a.id,
    w.role, w.label, w.every, w.depth, w.html, w.priority
  from unnest(of_watches) i (id)
  cross join lateral (
    select * from watch_part k where k.kind = of_kind and k.watch_id = i.id and k.is_asked offset 0
  ) w
  left join lateral (
    select t.id from target t
    where {{same_target w}}
    offset 0
  ) t on true
  left join lateral (
    select o.id, is_followed(o.id) as is_open
    from keyword_targets(w.store, w.subject, w.location_code, w.language_code) o
    where w.function = 'app_searches' and o.id is distinct from t.id
      and (t.id is null or not is_followed(t.id))
    order by 2 desc, 1 limit 1
  ) other on true
  left join lateral (select a.id from app a where a.store = w.store and a.app_id = w.app_id offset 0) a
    on true;
end;

-- Of a period that ends now: what began before it is owed, also where nothing ran since.
create or replace function first_unopened_slot(of_every interval) returns timestamptz language sql stable
return slot_end(of_every, slot_of(of_every, greatest((select l.opened_to from ledger l),
  '2000-01-01 00:00+00')));

-- The open period goes on while project, target, app and `every` stay the same; other changes are written
-- into it. Renaming a project renames its periods first, so that they have the new name here.
--- Ends the open periods of watches that ask for something else now, brings the others to what their watches
--- ask for, and returns the watches that may ask for a period and have none: also others of the project,
--- which a period that has ended kept from being followed.
create or replace function keep_open_periods(of_kind text, of_watches bigint[]) returns bigint[]
language plpgsql set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  left_over bigint[];
begin
  with kept as (
    select i.id as watch_id, p.id, w.project is not null as is_asked, w.depth, w.html, w.priority, w.role,
      w.label,
      -- A target that is not made yet is null, as that of an app without a page.
      w.project = p.project and w.every = p.every and (w.function is null) = (p.target_id is null)
        and (w.target_id, w.app) is not distinct from (p.target_id, p.app) as goes_on,
      (p.depth, p.html, p.priority, p.role, p.label) is distinct
        from (w.depth, w.html, w.priority, w.role, w.label) as is_changed
    from unnest(of_watches) i (id)
    left join lateral (
      select p.* from watch_period p where p.kind = of_kind and p.watch_id = i.id
        and p.ended_at is null offset 0
    ) p on true
    left join lateral asked_parts(of_kind, array[case when p.id is not null then i.id end]) w on true
  ), changed as (
    update watch_period p set depth = k.depth, html = k.html, priority = k.priority, role = k.role,
      label = k.label
    from kept k
    where p.id = k.id and k.goes_on and k.is_changed
    returning p.id, p.target_id, p.every
  ), ended as (
    update watch_period p set ended_at = storerank_now(), last_slot = slot_of(p.every, storerank_now())
    from kept k
    -- A project that is disabled meanwhile ends them too. In `coalesce`, so that no index of the open ones is
    -- read as a whole.
    where p.id = k.id and k.goes_on is not true and coalesce(p.ended_at, 'infinity') = 'infinity'
    returning p.id, p.target_id, p.project, p.every
  ), noted as (
    insert into period_change (period_id, from_slot)
    -- A slot that waits for money may be more urgent now, or cost less.
    select id, slot_of(every, storerank_now()) from changed where target_id is not null
    union all
    select id, first_unopened_slot(every) from ended
    where target_id is not null and first_unopened_slot(every) < storerank_now()
  )
  select array(
    select watch_id from kept where id is null or (is_asked and not goes_on)
    union
    select w.watch_id
    from ended e
    join target t on t.id = e.target_id
    cross join lateral (
      select k.watch_id from watch_part k
      where k.kind = of_kind and k.project = e.project and k.store = t.store
        and subject_key(k.subject) = any(array[subject_key(t.subject),
          subject_key(folded_subject(t.subject))])
        and k.language_code = t.language_code and coalesce(k.given_code, t.location_code) = t.location_code
      offset 0
    ) w
    union
    select w.id
    from ended e
    join target t on t.id = e.target_id and t.function = 'app_searches'
    join keyword_watch w on w.project = e.project and w.store = t.store
      and w.keyword <> folded_subject(w.keyword)
      and subject_key(folded_subject(w.keyword)) = subject_key(folded_subject(t.subject))
      and w.language_code = t.language_code
  ) into left_over;
  return left_over;
end $$;

-- Two periods of one project on one target never hold the same slot: with the same `every` the new period
-- takes the running slot over; with another `every` it begins after the last slot of the old one. Of several
-- watches of a project on one target the oldest is followed: watch_problem names the others. Of targets and
-- apps only what is missing is inserted, because `on conflict do nothing` uses up an id of the sequence per
-- existing row; in one order, so that two statements that make the same rows never deadlock.
--- Opens the periods of watches that have none, where they ask for one and no other watch of the project
--- follows the same, and makes the targets and apps that are missing for it.
create or replace function start_periods(of_kind text, of_watches bigint[]) returns void language plpgsql
set enable_nestloop = off as $$
declare
  present timestamptz := storerank_now();
begin
  with wanted as (
    select * from asked_parts(of_kind, of_watches)
  ), made_app as (
    insert into app (store, app_id)
    select distinct w.store, w.app_id from wanted w where w.app_id is not null and w.app is null
    order by 1, 2
    on conflict do nothing
  )
  insert into target (store, function, subject, category, location_code, language_code)
  select o.store, o.function, o.subject, o.category, o.location_code, o.language_code
  from (
    select distinct on (folded, w.location_code, w.language_code, w.store, w.function, w.category) w.*
    from wanted w
    cross join lateral (
      select case w.function when 'app_searches' then folded_subject(w.subject) else w.subject end as folded
    ) f
    where w.function is not null and w.target_id is null
    order by folded, w.location_code, w.language_code, w.store, w.function, w.category, w.watch_id
  ) o
  order by 3, 5, 6, 1, 2, 4
  on conflict do nothing;
  with asked as (
    select w.*, f.first, earlier.is_followed, earlier.after
    from asked_parts(of_kind, of_watches) w
    cross join lateral (select slot_of(w.every, present) as first) f
    -- Without any earlier period both are null.
    cross join lateral (
      select bool_or(p.ended_at is null) as is_followed,
        -- Seconds, because `+ '1 day'` adds 23 or 25 hours where the session's time zone changes its clocks.
        max(slot_of(w.every, p.last_slot) + make_interval(secs => extract(epoch from w.every)))
          filter (where p.every <> w.every and p.last_slot >= f.first) as after
      from watch_period p
      -- Concatenated, so that no plan without statistics reads all periods of the project or kind: it goes by
      -- the target.
      where p.target_id = w.target_id and p.project || '' = w.project and p.kind || '' = of_kind
    ) earlier
  ), oldest as (
    select distinct on (target_id, project) target_id, project, first, is_followed, after
    from asked where is_followed is not null order by target_id, project, watch_id
  ), ending as (
    select p.id, o.first
    from oldest o
    cross join lateral (
      select p.id from watch_period p
      where p.target_id = o.target_id and p.project || '' = o.project and p.kind || '' = of_kind
        and p.last_slot >= o.first
      offset 0
    ) p
    where not o.is_followed and o.after is null
  ), taken_over as (
    update watch_period taken set last_slot = e.first - interval '1 microsecond'
    from ending e
    -- Also by an array, so that only these are read for the join by hash.
    where taken.id = e.id and taken.id = any(array(select id from ending))
  ), started as (
    insert into watch_period
      (kind, watch_id, project, target_id, app, role, label, every, depth, html, priority, started_at,
        first_slot)
    select of_kind, a.watch_id, a.project, a.target_id, a.app, a.role, a.label, a.every, a.depth, a.html,
      a.priority, present, coalesce(a.after, a.first)
    from asked a
    where a.is_followed is not true
    order by a.target_id, a.watch_id
    -- Of several rows of this statement the oldest comes first; and two runners may find it missing at once,
    -- or two people follow one target at once.
    on conflict do nothing
    returning id, target_id, first_slot
  )
  insert into period_change (period_id, from_slot)
  select id, first_slot from started where target_id is not null;
end $$;

-- What the watches ask for is read from their tables, so that it does not matter which statement wrote them
-- last. New watches have no periods yet. One plan for all calls, made while the tables may be small: none
-- reads a table as a whole.
create or replace function follow_watches(of_kind text, of_watches bigint[],
  are_new boolean default false) returns void language plpgsql
set jit = off set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
declare
  waiting bigint[] := case when are_new then of_watches else keep_open_periods(of_kind, of_watches) end;
begin
  if cardinality(waiting) > 0 then
    perform start_periods(of_kind, waiting);
  end if;
end $$;

create or replace function kinds_of(in_table text) returns text[] language sql immutable parallel safe
return case in_table when 'keyword_watch' then '{keyword}' when 'chart_watch' then '{chart}'
  else '{app,reviews}' end::text[];

create or replace function keep_periods() returns trigger {{as_owner}} as $$
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
  foreach of_kind in array kinds_of(tg_table_name) loop
    perform follow_watches(of_kind, written, tg_op = 'INSERT');
  end loop;
  return null;
end $$;

-- For watches whose location became known, or whose twin is gone.
create or replace function start_missing_watch_periods(of_projects text[] default null) returns void
  language plpgsql as $$
declare
  of_kind text;
begin
  foreach of_kind in array array['keyword', 'chart', 'app', 'reviews'] loop
    perform follow_watches(of_kind, array(
      select w.watch_id from watch_part w
      where w.kind = of_kind and w.is_asked and (of_projects is null or w.project = any(of_projects))
        and not exists (select from watch_period p where p.kind = of_kind and p.watch_id = w.watch_id
          and p.ended_at is null)
    ));
  end loop;
end $$;

create or replace function end_periods(open_ones bigint[]) returns void language sql volatile
begin atomic
  with ended as (
    update watch_period set ended_at = storerank_now(), last_slot = slot_of(every, storerank_now())
    where id = any(open_ones) and ended_at is null returning id, target_id, every
  )
  insert into period_change (period_id, from_slot)
  select id, first_unopened_slot(every) from ended
  where target_id is not null and first_unopened_slot(every) < storerank_now();
end;

-- `truncate` has no transition tables.
create or replace function stop_all_periods() returns trigger {{as_owner}} as $$
begin
  perform end_periods(array(
    select id from watch_period where kind = any(kinds_of(tg_table_name)) and ended_at is null));
  return null;
end $$;

create or replace function keep_project_periods() returns trigger {{as_owner}} as $$
begin
  if new.enabled then
    perform start_missing_watch_periods(array[new.name]);
  else
    perform end_periods(array(select id from watch_period where project = new.name and ended_at is null));
  end if;
  return null;
end $$;
