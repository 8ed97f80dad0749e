-- What a person reads when a row is refused: for each rule what was given and what is allowed, and what to
-- do. `refuse` raises it from the CHECK of the name, and from the triggers of watches.sql.

-- Values come as JSON, in which no control character can act on a terminal.
--- A value as a message shows it: quoted when it is a text, and of bounded length.
create or replace function shown_value(value jsonb) returns text language sql immutable parallel safe
return regexp_replace(
  case when char_length(value::text) > 80 then left(value::text, 70) || '…' || case jsonb_typeof(value)
    when 'string' then '"' else '' end
    else coalesce(value::text, 'null') end,
  '[\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]', '�', 'g');

-- What was most likely meant by a value that a rule refuses; null when there is no telling. The collation
-- "C", because that of the database may be Turkish, where I is not the capital of i.
create or replace function meant_value(rule text, given text) returns text
language sql stable parallel safe
return case rule
  when 'store_known' then case
    when given collate "C" ~* '(ios|apple|^app)' then 'ios_store'
    when given collate "C" ~* '(android|google|play)' then 'android_store' end
  when 'language_code_form' then nearest_language(given)
  when 'app_id_form_by_store' then coalesce(
    substring(given from '(?:^|/)id([0-9]{3,19})(?:[?/#]|$)'),
    substring(given from '[?&]id=([A-Za-z][A-Za-z0-9_]*(?:[.][A-Za-z0-9_]+)+)'))
  when 'role_own_or_competitor' then case
    when given collate "C" ~* '^(own|our|mine|my|me$)' then 'own'
    when given collate "C" ~* '^(comp|rival|other|their)' then 'competitor' end
  when 'timezone_known' then coalesce((
    select n.name from pg_timezone_names n where lower(n.name) like '%/' || lower(given)
      and n.name !~ '^(posix|right)/' order by n.name limit 1
  ), nearest_name(given, array(
    select n.name from pg_timezone_names n where n.name ~ '/' and n.name !~ '^(posix|right|Etc)/'
      order by n.name)))
end;

-- The rows of refusals.txt: %1$s and so on are the values that were given, in the order in which the rule
-- names them.
--- What is said of a row that breaks a rule, where its name does not say it.
create or replace function refusals()
returns table (rule text, sentence text, remedy text) language sql immutable parallel safe
begin atomic
  values
  {{refusals}};
end;

--- What is said of a row that breaks a rule: the code of the error, what was given and what is allowed, which
--- row, and what to do.
create or replace function refusal_of(in_table text, rule text, of_row text[], given jsonb[])
returns table (code text, message text, detail text, hint text) {{begin}}
  select case when refusal_of.rule ~ '_missing$' then '23502' else '23514' end,
    format(coalesce(told.sentence, substring(refusal_of.rule from '^(.*)_missing$') || ' is missing.',
        substring(refusal_of.rule from '^(.*)_without_control_characters$')
          || ' is %1$s, with a line break or another control character in it.',
        'The row breaks the rule ' || refusal_of.rule || ': %1$s.'),
      variadic array(select shown_value(g.value) from unnest(given) with ordinality g (value, place)
        order by g.place))
      || coalesce(' Did you mean ' || meant_value(refusal_of.rule, given[1] #>> '{}') || '?', ''),
    concat_ws(': ', 'The row of ' || in_table, nullif(array_to_string(array(
      select shown_value(to_jsonb(r.name)) from unnest(of_row) with ordinality r (name, place)
      where r.name is not null order by r.place), ', '), '')) || '.',
    coalesce(told.remedy, case when refusal_of.rule ~ '_missing$' then 'Give it a value.'
      when refusal_of.rule ~ '_without_control_characters$' then 'Write it without.'
      else 'Correct the value.' end)
  from (select) one left join refusals() told on told.rule = refusal_of.rule;
end;
