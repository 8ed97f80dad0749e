-- Two watches of a project on one target that were written at the same moment did not see each other, and both were followed.
update watch_period p set ended_at = storerank_now(), last_slot = slot_of(every, storerank_now())
where ended_at is null and exists (
  select from watch_period earlier
  where (earlier.project, earlier.target_id) = (p.project, p.target_id) and earlier.ended_at is null and earlier.id < p.id
);
--> statement-breakpoint
create unique index watch_period_target_once on watch_period using btree (target_id, project) where last_slot is null;
--> statement-breakpoint

-- People beside the runner, who owns it all: `storerank_editor` writes watchlists and reads the views, `storerank_reader` reads the
-- views.

-- The triggers of a watch write what no person may write, and views call functions that read tables. Those act as the owner, with
-- the search path pinned, so that nobody slips a table of his own under them. They, and whatever else changes something, are
-- not for everybody to call: on a table of one's own such a trigger would take any row for a watch.
do $$
declare
  schema regnamespace := (select relnamespace from pg_class where oid = 'project'::regclass);
  machine regprocedure;
  acts_as_owner boolean;
begin
  for machine, acts_as_owner in
    select p.oid, p.provolatile <> 'v' or exists (
      select from pg_trigger t where t.tgfoid = p.oid
        and t.tgrelid in ('project'::regclass, 'keyword_watch'::regclass, 'app_watch'::regclass, 'chart_watch'::regclass))
    from pg_proc p
    where p.pronamespace = schema and p.proowner = (select relowner from pg_class where oid = 'project'::regclass)
      and (p.provolatile = 'v' or p.proname in ('location_code_of', 'pending_slots'))
      and not exists (select from pg_depend d where d.objid = p.oid and d.classid = 'pg_proc'::regclass and d.deptype = 'e')
  loop
    execute format('revoke execute on function %s from public', machine);
    if acts_as_owner then
      execute format('alter function %s security definer set search_path = %s, pg_temp', machine, schema);
    end if;
  end loop;
end $$;
--> statement-breakpoint

-- Business time is simulated by the owner alone, in tests and the demo: a watch that began in another year would owe all
-- the slots since. Not `security definer`, because it asks who writes; after the row and before `keep_period`, because the
-- statement itself could still call set_config.
create function refuse_simulated_time() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if nullif(current_setting('storerank.now', true), '') is not null
    and not pg_has_role((select relowner from pg_class where oid = tg_relid), 'usage') then
    raise insufficient_privilege using message = 'Watches are written at the present time, and storerank.now says another one.',
      hint = 'Run first: reset storerank.now';
  end if;
  return null;
end $$;
--> statement-breakpoint
create trigger a_present_time after update on project for each row execute function refuse_simulated_time();
--> statement-breakpoint
create trigger a_present_time after insert or update or delete on keyword_watch
for each row execute function refuse_simulated_time();
--> statement-breakpoint
create trigger a_present_time after insert or update or delete on app_watch
for each row execute function refuse_simulated_time();
--> statement-breakpoint
create trigger a_present_time after insert or update or delete on chart_watch
for each row execute function refuse_simulated_time();
--> statement-breakpoint

-- Roles belong to the whole server: another database of it may have made them, or make them at this moment. The views are
-- those that the owner of the tables has beside them, so `storerank migrate` calls this again after later migrations.
create function grant_roles() returns text language plpgsql as $$
declare
  schema regnamespace;
  owner oid;
  person text;
  thing text;
begin
  foreach person in array array['storerank_editor', 'storerank_reader'] loop
    continue when to_regrole(person) is not null;
    begin
      execute format('create role %I nologin', person);
    exception
      when duplicate_object or unique_violation then
        null;
      when insufficient_privilege then
        return format('The roles storerank_editor and storerank_reader were not made, because %s may not make roles. Whoever '
          'may runs: create role storerank_editor nologin; create role storerank_reader nologin; and then `storerank migrate` '
          'gives them their rights.', current_user);
    end;
  end loop;
  select relnamespace, relowner into schema, owner from pg_class where oid = 'project'::regclass;
  execute format('grant usage on schema %s to storerank_editor, storerank_reader', schema);
  grant select, insert, update, delete on project, keyword_watch, app_watch, chart_watch to storerank_editor;
  grant select on location, language, category, listing_category, app to storerank_editor;
  for thing in
    select format('select on %s', c.oid::regclass) from pg_class c
    where c.relnamespace = schema and c.relowner = owner and c.relkind = 'v'
      and not exists (select from pg_depend d where d.objid = c.oid and d.classid = 'pg_class'::regclass and d.deptype = 'e')
    union all
    -- What acts as the owner and changes nothing is there for the views.
    select format('execute on function %s', p.oid::regprocedure) from pg_proc p
    where p.pronamespace = schema and p.proowner = owner and p.prosecdef and p.provolatile <> 'v'
      and not exists (select from pg_depend d where d.objid = p.oid and d.classid = 'pg_proc'::regclass and d.deptype = 'e')
  loop
    execute format('grant %s to storerank_editor, storerank_reader', thing);
  end loop;
  return null;
end $$;
--> statement-breakpoint
comment on function grant_roles() is
  'Makes the roles storerank_editor and storerank_reader where they are missing, and gives them their rights; returns what hindered it.';
--> statement-breakpoint
revoke execute on function grant_roles() from public;
--> statement-breakpoint
do $$
declare
  hindrance text := grant_roles();
begin
  if hindrance is not null then
    raise notice '%', hindrance;
  end if;
end $$;
