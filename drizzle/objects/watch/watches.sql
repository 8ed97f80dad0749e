-- What brings each row of project, keyword_watch, app_watch and chart_watch into one form, and refuses what
-- the service does not know. Triggers of one table fire in the order of their names.

-- Texts that look alike are one text, so that nothing is paid twice for a space. The joiners U+200C and
-- U+200D stay where they mean something: between letters of Arabic, Indic and other scripts that join, and
-- between emoji; so do selectors of a variant behind a sign that has any, and tags behind the black flag. All
-- else that Unicode lets be ignored goes. Most texts pass by the first arm. It is inlined, which a call of a
-- function that is only stable would prevent.
--- A text in the form that it is stored in: composed (NFC), without outer space and invisible characters, and
--- with single inner spaces.
create or replace function clean_text(value text) returns text language sql immutable parallel safe
return case when value ~ '^[!-~]+( [!-~]+)*$' then value else normalize(btrim(
  regexp_replace(
    regexp_replace(
      regexp_replace(
        regexp_replace(
          regexp_replace(value,
            '[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2060-\u2065\u206a-\u206f'
            '\u3164\ufeff\uffa0\ufff0-\ufffc\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e001f'
            '\U000e0080-\U000e00ff\U000e01f0-\U000e0fff]'
            '|(?<![\U0001f3f4\U000e0020-\U000e007e])[\U000e0020-\U000e007f]+', '', 'g'),
          -- Digits, # and * are keys of a telephone with one. K, ; and ` are what NFC makes of three letters.
          '(^|(?<=[\u0001-"$-)+-/:-~\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000\u037e\u1fef\u212a]))'
            '[\u200c\u200d\ufe00-\ufe0f\U000e0100-\U000e01ef]+', '', 'g'),
        '([\u200c\u200d])[\u200c\u200d]+', '\1', 'g'),
      '(?<![\u0600-\u0dff\u0f00-\u109f\u1700-\u18af\u1900-\u1aff\ua800-\uabff\ufb50-\ufdff\ufe70-\ufefc'
        '\u20e3\u2190-\u2bff\u3030\u303d\ufe0f\U0001f000-\U0001faff\U000e0020-\U000e007f])[\u200c\u200d]'
        '|[\u200c\u200d](?![\u0600-\u0dff\u0f00-\u109f\u1700-\u18af\u1900-\u1aff\ua800-\uabff'
        '\ufb50-\ufdff\ufe70-\ufefc\u20e3\u2190-\u2bff\u3030\u303d\ufe0f\U0001f000-\U0001faff'
        '\U000e0020-\U000e007f])',
      '', 'g'),
    -- Last, because what is taken off may have stood between two spaces.
    '[ \u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]+', ' ', 'g'),
  E' \t\r\n'), nfc) end;

create or replace function is_clean(value text) returns boolean language sql immutable parallel safe
return value ~ '^[!-~]+( [!-~]+)*$' or value = clean_text(value);

-- Its triggers call it only for rows that need it, because most rows are in their form: to ask costs a
-- twentieth of calling it. Null is the column's default in a new row, and nothing in one that is there.
--- Brings a row into its form: clean texts, and defaults for what is null. Its arguments are the columns by
--- which a person knows the row, and those with such texts.
create or replace function prepare_row() returns trigger {{as_owner}} as $$
declare
  given jsonb := to_jsonb(new);
  changed jsonb := (
    select coalesce(jsonb_object_agg(c.name, clean_text(given ->> c.name))
      filter (where given -> c.name <> 'null'), '{}')
    from unnest(tg_argv[1]::text[]) c (name)
  );
  missing record;
  value jsonb;
begin
  for missing in
    select a.attname::text as name, coalesce(pg_get_expr(d.adbin, d.adrelid),
      case when a.attidentity <> '' then format('nextval(%L)',
        pg_get_serial_sequence(tg_relid::regclass::text, a.attname)) end) as value
    from pg_attribute a
    left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
    where a.attrelid = tg_relid and a.attnum > 0 and not a.attisdropped and a.attnotnull
      and given -> a.attname = 'null'
    order by a.attnum
  loop
    if tg_op = 'UPDATE' or missing.value is null then
      perform refuse(tg_table_name, missing.name || '_missing', array(
        select given ->> c.name from unnest(tg_argv[0]::text[]) with ordinality c (name, place)
          order by c.place), 'null');
    end if;
    execute format('select to_jsonb(%s)', missing.value) into value;
    changed := changed || jsonb_build_object(missing.name, value);
  end loop;
  return jsonb_populate_record(new, changed);
end $$;

-- spec: Limits; it says 100 for ios_store, and for android_store 30 is our assumption. Of reviews of the
-- android_store it is what one billing unit pays for (docs/service.md: reviews of the android_store).
create or replace function set_default_depth() returns trigger {{as_owner}} as $$
begin
  if tg_table_name = 'keyword_watch' then
    new.depth := case new.store when 'android_store' then 30 else 100 end;
  else
    new.reviews_depth := case new.store when 'android_store' then 150 else 50 end;
  end if;
  return new;
end $$;

-- Once per statement instead of a foreign key per row. The lock is that of a foreign key: until this
-- transaction ends, no other deletes the project or gives it another name. One that did so meanwhile is over
-- when the lock is given, and the project is made again.
--- Makes the projects that watches name and that are missing, and keeps them there until the transaction
--- ends.
create or replace function keep_projects() returns trigger {{as_owner}} as $$
declare
  names text[] := array(select distinct project from fresh order by 1);
  locked integer;
begin
  for attempt in 1..5 loop
    insert into project (name)
    select n.name from unnest(names) n (name)
    where not exists (select from project p where p.name = n.name)
    order by 1
    on conflict do nothing;
    perform from project p where p.name = any(names) order by p.name for key share;
    get diagnostics locked = row_count;
    if locked = cardinality(names) then
      return null;
    end if;
  end loop;
  raise serialization_failure
    using message = 'The projects of these watches are being deleted or renamed at this moment.',
    hint = 'Run it again.';
end $$;

-- The periods first, so that the triggers of the watches find them under the new name.
create or replace function rename_project() returns trigger {{as_owner}} as $$
begin
  update watch_period set project = new.name where project = old.name;
  update keyword_watch set project = new.name where project = old.name;
  update app_watch set project = new.name where project = old.name;
  update chart_watch set project = new.name where project = old.name;
  return null;
end $$;

-- A project that never had a watch goes without a word.
create or replace function refuse_project_with_history() returns trigger {{as_owner}} as $$
begin
  -- Waits for statements that write watches of it (keep_projects), so that the next one sees them.
  perform from project p where p.name = old.name for update;
  if exists (select from watch_period p where p.project = old.name)
    or exists (select from keyword_watch w where w.project = old.name)
    or exists (select from app_watch w where w.project = old.name)
    or exists (select from chart_watch w where w.project = old.name) then
    raise foreign_key_violation using
      message = format('The project %s has watches or a history, and is not deleted.',
        shown_value(to_jsonb(old.name))),
      detail = format(
        'It stops, and keeps its history, by: update project set enabled = false where name = %L;', old.name),
      hint = format(
        'To delete it with all of its history, the owner of the database runs: call delete_project(%L);',
        old.name),
      schema = 'public', table = 'project', constraint = 'project_with_history';
  end if;
  return old;
end $$;

-- Only the owner may simulate business time, in tests and in the demo: a watch that began in another year
-- would owe all the slots since. Not `security definer`, because it reads the current user. It fires when all
-- rows are written and before the periods are kept, because the statement itself could still call set_config.
create or replace function refuse_simulated_time() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if nullif(current_setting('storerank.now', true), '') is not null
    and not pg_has_role((select relowner from pg_class where oid = tg_relid), 'usage') then
    raise insufficient_privilege
      using message = 'Watches are written at the present time, and storerank.now says another one.',
      hint = 'Run first: reset storerank.now';
  end if;
  return null;
end $$;

-- A value that stood in a row of the statement before is not refused: the reference lists change, and a row
-- that was right once may still be edited in everything else. watch_problem tells of it. Each value is looked
-- up once, however many rows have it, and none behind the fifth that is refused: a sentence reads all names.
create or replace function refuse_unknown() returns trigger {{as_owner}} as $$
declare
  list record;
  sentences text[];
begin
  for list in
    select * from (values
      ('collection_known', 'store, collection, category', 'unknown_collection'),
      ('category_known', 'store, category', 'unknown_category'),
      ('location_known', 'store, location_code, location_name', 'unknown_location'),
      ('language_known', 'store, language_code', 'unknown_language')
    ) l (rule, columns, finder)
    where tg_table_name = 'chart_watch' or l.rule in ('location_known', 'language_known')
  loop
    execute format('select array(select distinct s from (
        select u.sentence as s from (select distinct %1$s from fresh %2$s order by %1$s) n
        cross join lateral %3$s(%1$s) u (sentence) where u.sentence is not null limit 5) x order by 1)',
      list.columns, case tg_op when 'UPDATE' then format('except select %s from stale', list.columns) end,
      list.finder) into sentences;
    if cardinality(sentences) > 0 then
      raise foreign_key_violation using message = sentences[1],
        detail = concat_ws(' ', format('Nothing of the statement was written to %s.', tg_table_name),
          'Also: ' || nullif(array_to_string(sentences[2:5], ' '), '')),
        hint = case list.rule when 'collection_known'
          then 'select chart_collections(''ios_store''), chart_collections(''android_store'') has them all.'
          else 'The tables location, language and category have what each store knows.' end,
        schema = 'public', table = tg_table_name, constraint = tg_table_name || '_' || list.rule;
    end if;
  end loop;
  return null;
end $$;
