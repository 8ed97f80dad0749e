-- Triggers of project, keyword_watch, app_watch and chart_watch that run before those which keep the periods. Triggers of one table fire
-- in the order of their names.

grant usage on schema public to storerank_editor, storerank_reader;
grant select, insert, update, delete on project, keyword_watch, app_watch, chart_watch to storerank_editor;
grant select on location, language, category, listing_category, app to storerank_editor;

create or replace function prepare_watch() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  insert into project (name) values (new.project) on conflict do nothing;
  return new;
end $$;
comment on function prepare_watch() is 'Makes the project of a watch when it is missing.';
revoke execute on function prepare_watch() from public;

create or replace trigger a_project before insert or update of project on keyword_watch
for each row execute function prepare_watch();

create or replace trigger a_project before insert or update of project on app_watch
for each row execute function prepare_watch();

create or replace trigger a_project before insert or update of project on chart_watch
for each row execute function prepare_watch();

-- spec: Limits; it says 100 for ios_store, and for android_store 30 is our assumption.
create or replace function prepare_keyword_watch() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  new.depth := coalesce(new.depth, case new.store when 'android_store' then 30 else 100 end);
  return new;
end $$;
comment on function prepare_keyword_watch() is 'Gives a keyword watch without a depth the default depth of its store.';
revoke execute on function prepare_keyword_watch() from public;

create or replace trigger b_depth before insert or update of depth on keyword_watch
for each row execute function prepare_keyword_watch();

-- Only the owner may simulate business time, in tests and in the demo: a watch that began in another year would owe all the slots since.
-- Not `security definer`, because it reads the current user. It fires after the row is written and before `keep_period`, because the
-- statement itself could still call set_config.
create or replace function refuse_simulated_time() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if nullif(current_setting('storerank.now', true), '') is not null
    and not pg_has_role((select relowner from pg_class where oid = tg_relid), 'usage') then
    raise insufficient_privilege using message = 'Watches are written at the present time, and storerank.now says another one.',
      hint = 'Run first: reset storerank.now';
  end if;
  return null;
end $$;
comment on function refuse_simulated_time() is 'Refuses a watch that an editor writes at a simulated time.';

create or replace trigger a_present_time after update on project
for each row execute function refuse_simulated_time();

create or replace trigger a_present_time after insert or update or delete on keyword_watch
for each row execute function refuse_simulated_time();

create or replace trigger a_present_time after insert or update or delete on app_watch
for each row execute function refuse_simulated_time();

create or replace trigger a_present_time after insert or update or delete on chart_watch
for each row execute function refuse_simulated_time();
