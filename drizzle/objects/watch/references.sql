-- What the reference lists say of a watch. Nothing is said of a list that has not been loaded.

-- The nearest name has the most pairs of letters in common with what was meant, at least three in five. Of a
-- list of 90,000 places only those are counted that are about as long or begin with it, and have two of three
-- pairs: the first, the middle and the last. No extension for it is installed everywhere.
--- The name that is nearest to what was meant, of several the first; null when none is near.
create or replace function nearest_name(meant text, names text[]) returns text
  language sql immutable parallel safe
return (
  select n.name
  from unnest(names) with ordinality n (name, place)
  cross join lateral (
    select count(*) as shared from generate_series(1, char_length(meant) - 1) i
    where position(substr(lower(meant collate "C"), i, 2) in lower(n.name collate "C")) > 0
  ) pairs
  where pairs.shared >= 0.6 * (char_length(meant) - 1)
    -- London is not Indonesia.
    and (left(lower(n.name collate "C"), 1) = left(lower(meant collate "C"), 1)
      or (pairs.shared >= 0.8 * (char_length(meant) - 1)
        and abs(char_length(n.name) - char_length(meant)) <= 1))
    and (char_length(n.name) between 0.6 * char_length(meant) and 1.8 * char_length(meant)
      or starts_with(lower(n.name collate "C"), lower(meant collate "C")))
    and (position(substr(lower(meant collate "C"), 1, 2) in lower(n.name collate "C")) > 0)::int
      + (position(substr(lower(meant collate "C"), greatest(char_length(meant) / 2, 1),
        2) in lower(n.name collate "C")) > 0)::int
      + (position(right(lower(meant collate "C"), 2) in lower(n.name collate "C")) > 0)::int >= 2
  order by pairs.shared::float8 / (char_length(meant) + char_length(n.name)) desc, n.place
  limit 1
);

-- ISO 3166-1 has two letters and three, and people write neither. The two letters stand in the table
-- location.
--- What countries are called beside their names: their two letters, and what people write.
create or replace function country_names() returns table (code text, names text[])
  language sql immutable parallel safe
begin atomic
  values
    ('US', '{USA,U.S.,U.S.A.,AMERICA,UNITED STATES OF AMERICA,THE UNITED STATES}'::text[]),
    ('GB', '{UK,U.K.,GBR,BRITAIN,GREAT BRITAIN,ENGLAND,SCOTLAND,WALES}'), ('DE', '{DEU,GER,DEUTSCHLAND}'),
    ('FR', '{FRA}'), ('ES', '{ESP,ESPAÑA,ESPANA}'), ('IT', '{ITA,ITALIA}'),
    ('NL', '{NLD,HOLLAND,NEDERLAND}'), ('BE', '{BEL,BELGIE,BELGIQUE}'),
    ('AT', '{AUT,ÖSTERREICH,OSTERREICH}'), ('CH', '{CHE,SUI,SCHWEIZ,SUISSE,SVIZZERA}'),
    ('PL', '{POL,POLSKA}'), ('PT', '{PRT,POR}'), ('SE', '{SWE,SVERIGE}'), ('NO', '{NOR,NORGE}'),
    ('DK', '{DNK,DEN,DANMARK}'), ('FI', '{FIN,SUOMI}'), ('IE', '{IRL,EIRE}'), ('CZ', '{CZE,CZECH REPUBLIC}'),
    ('GR', '{GRC,GRE,HELLAS}'), ('RO', '{ROU}'), ('HU', '{HUN}'), ('BG', '{BGR}'), ('HR', '{HRV}'),
    ('UA', '{UKR}'), ('TR', '{TUR,TÜRKIYE,TURKIYE}'), ('JP', '{JPN,日本,NIPPON}'),
    ('KR', '{KOR,KOREA,대한민국,REPUBLIC OF KOREA}'), ('CN', '{CHN,中国,PEOPLE''S REPUBLIC OF CHINA}'),
    ('TW', '{TWN}'), ('HK', '{HKG}'), ('IN', '{IND}'), ('ID', '{IDN}'), ('VN', '{VNM,VIET NAM}'),
    ('TH', '{THA}'), ('PH', '{PHL}'), ('MY', '{MYS}'), ('SG', '{SGP}'), ('AU', '{AUS}'), ('NZ', '{NZL}'),
    ('CA', '{CAN}'), ('MX', '{MEX,MÉXICO}'), ('BR', '{BRA,BRASIL}'), ('AR', '{ARG}'), ('CL', '{CHL}'),
    ('CO', '{COL}'), ('ZA', '{ZAF,RSA}'), ('EG', '{EGY}'), ('AE', '{UAE,ARE,EMIRATES}'), ('SA', '{SAU,KSA}'),
    ('IL', '{ISR}'), ('NG', '{NGA}'), ('KE', '{KEN}'), ('PK', '{PAK}');
end;

create or replace function country_code_of(meant text) returns text language sql immutable parallel safe
return case when meant ~ '^[A-Za-z]{2}$' and upper(meant collate "C") <> 'UK' then upper(meant collate "C")
  else (
    select c.code from country_names() c
    where upper(meant) = any (c.names) or upper(meant collate "C") = any (c.names)
  ) end;

-- A place by the first of its names; a country by its letters or another name; what only the other store has
-- by its country; else by the spelling.
create or replace function nearest_location(in_store text, meant text) returns text
  language sql stable parallel safe
return coalesce(
  (select l.name from location l
  where l.store = in_store and starts_with(lower(l.name collate "C"), lower(meant collate "C") || ',')
    order by l.code limit 1),
  (select l.name from location l
  where l.store = in_store and lower(l.type collate "C") = 'country'
    and l.country_iso_code = coalesce(country_code_of(meant), (
    select e.country_iso_code from location e
    where lower(e.name collate "C") = lower(meant collate "C")
      or starts_with(lower(e.name collate "C"), lower(meant collate "C") || ',')
    limit 1
  )) order by l.code limit 1),
  nearest_name(meant, array(select l.name from location l where l.store = in_store order by l.code))
);

-- EN, en_US, English and jp: by the code in another spelling, by the language's name, by the first letters of
-- either, and by its country.
create or replace function nearest_language(meant text, in_store text default null) returns text
  language sql stable parallel safe
return (
  select l.code
  from (
    select code, name from language where store = in_store or in_store is null
    union
    -- Before the languages are loaded.
    select m.code, '' from (select translate(lower(btrim(meant) collate "C"), '_ ', '--')) m (code)
    where m.code ~ '^[a-z]{2}(-[a-z]{2,4})?$' and not exists (select from language where store = in_store
      or in_store is null)
  ) l
  cross join lateral (select translate(lower(btrim(meant) collate "C"), '_ ', '--') as code) m
  where m.code <> '' and (lower(l.code collate "C") = m.code or left(l.code, 2) = left(m.code, 2)
    or starts_with(lower(l.name collate "C"), m.code)
    or (m.code, l.code) in (('jp', 'ja'), ('cn', 'zh'), ('kr', 'ko'), ('dk', 'da'), ('cz', 'cs'),
      ('gr', 'el'), ('se', 'sv'), ('br', 'pt'),
      ('us', 'en'), ('gb', 'en'), ('at', 'de'), ('vn', 'vi'), ('in', 'hi')))
  order by lower(l.code collate "C") = m.code desc, starts_with(lower(l.name collate "C"), m.code) desc,
    l.code
  limit 1
);

-- The code of a country is 2000 and its number in ISO 3166-1.
create or replace function unknown_location(in_store text, in_code bigint, in_name text) returns text
  language sql stable parallel safe security definer set search_path = public, pg_temp
return case
  when num_nonnulls(in_code, in_name) = 0 or not exists (select from location l where l.store = in_store)
    then null
  when in_code is not null then (
    select format(
      '%s has no location with the code %s.%s Correct location_code; the table location has them all.',
      in_store, in_code, coalesce((select format(' Did you mean %s (%s)?', l.code, l.name) from location l
        where l.store = in_store and l.code = in_code + 2000), ''))
    where not exists (select from location l where l.store = in_store and l.code = in_code)
  )
  else (
    select format(
      '%s has no location called "%s".%s Correct location_name, or give location_code instead; the table '
      'location has them all.',
      in_store, in_name, coalesce(' Did you mean "' || nearest_location(in_store, in_name) || '"?', ''))
    where not exists (select from location l
      where l.store = in_store and lower(l.name collate "C") = lower(in_name collate "C"))
  ) end;

create or replace function unknown_language(in_store text, in_code text) returns text
  language sql stable parallel safe security definer set search_path = public, pg_temp
return (
  select format(
    '%s has no language with the code "%s".%s Correct language_code; the table language has them all.',
    in_store, in_code, coalesce((select format(' Did you mean "%s" (%s)?', l.code, l.name) from language l
      where l.store = in_store and l.code = nearest_language(in_code, in_store)), ''))
  where in_code is not null and exists (select from language l where l.store = in_store)
    and not exists (select from language l where l.store = in_store and l.code = in_code)
);

create or replace function unknown_category(in_store text, in_name text) returns text
  language sql stable parallel safe security definer set search_path = public, pg_temp
return (
  select format(
    '%s has no category called "%s".%s Correct category, or leave it out for all of the collection; the '
    'table category has them all.',
    in_store, in_name, coalesce(' Did you mean "' || nearest_name(in_name, c.names) || '"?', ''))
  from (
    select array_agg(g.name order by g.name) as names from category g
    where g.store = in_store and g.kind = 'chart'
  ) c
  where in_name <> all(c.names)
);

-- The service has no list of them that could be loaded: its documentation names them (docs/service.md: charts
-- of the ios_store).
--- The charts of a store, by the names that the service has for them.
create or replace function chart_collections(in_store text) returns text[]
  language sql immutable parallel safe
return case in_store
  when 'ios_store' then array['top_free_ios', 'top_paid_ios', 'top_grossing_ios', 'new_ios', 'new_free_ios',
    'new_paid_ios']
  when 'android_store' then array['topselling_free', 'topselling_paid', 'topgrossing', 'topselling_new_free',
    'topselling_new_paid',
    'movers_shakers', 'featured']
end;

create or replace function unknown_collection(in_store text, name text, category text) returns text
language sql immutable parallel safe
return case
  when name = any (chart_collections(in_store)) then case when name = 'featured' and category is not null
    then format('The chart featured has no categories, and category is "%s". Leave it out.', category) end
  else format('%s has no chart called "%s".%s', in_store, name, coalesce(
    (select format(' It is one of the %s: write store = ''%s''.', other.store, other.store)
      from (values ('ios_store'), ('android_store')) other (store)
      where name = any (chart_collections(other.store))),
    format('%s Its charts are %s.', coalesce(' Did you mean "'
      || nearest_name(name, chart_collections(in_store)) || '"?', ''),
      array_to_string(chart_collections(in_store), ', '))))
end;
