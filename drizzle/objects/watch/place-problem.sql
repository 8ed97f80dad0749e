--- Places of watches that the loaded references do not know: part of watch_problem, which has their watches.
create or replace view place_problem as
with place as (
  select store, code, name, language_code from keyword_place
  union
  select store, coalesce(location_code, 0), coalesce(location_name, ''), language_code from chart_watch
    where enabled
  union
  -- An app has a place for its page and its reviews.
  select store, coalesce(location_code, 0), coalesce(location_name, ''), language_code from app_watch
    where enabled and (info or reviews)
), location_problem as materialized (
  select n.store, n.code, n.name, told.problem, told.message
  from (select distinct store, code, name from place) n
  cross join lateral (
    select 'references_missing' as problem,
      format('The location "%s" is looked up when the references of %s have been loaded, which '
      'the next run does.', n.name, n.store) as message
    where n.name <> '' and not exists (select from location l where l.store = n.store)
    union all
    select 'location_unknown', unknown_location(n.store, nullif(n.code, 0), nullif(n.name, ''))
  ) told
  where told.message is not null
), language_problem as materialized (
  select n.store, n.language_code, n.message
  from (select store, language_code, unknown_language(store, language_code) as message
    from (select distinct store, language_code from place) d) n
  where n.message is not null
)
select p.store, p.code, p.name, p.language_code, l.problem, l.message
from place p join location_problem l on l.store = p.store and l.code = p.code and l.name = p.name
union all
select p.store, p.code, p.name, p.language_code, 'language_unknown', l.message
from place p join language_problem l on l.store = p.store and l.language_code = p.language_code;
