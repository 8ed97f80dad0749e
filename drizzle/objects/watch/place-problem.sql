create or replace view place_problem as
select p.store, p.code, p.name, p.language_code, told.problem, told.message
from (
  select store, code, name, language_code from keyword_place
  union
  select store, coalesce(location_code, 0), coalesce(location_name, ''), language_code from chart_watch
    where enabled
  union
  -- An app has a place for its page and its reviews.
  select store, coalesce(location_code, 0), coalesce(location_name, ''), language_code from app_watch
    where enabled and (info or reviews)
) p
cross join lateral (
  select 'references_missing' as problem,
    format('The location "%s" is looked up when the references of %s have been loaded, which the next run '
      'does.', p.name, p.store) as message
  where p.name <> '' and not exists (select from location l where l.store = p.store)
  union all
  select 'location_unknown', unknown_location(p.store, nullif(p.code, 0), nullif(p.name, ''))
  union all
  select 'language_unknown', unknown_language(p.store, p.language_code)
) told
where told.message is not null;
comment on view place_problem is
  'Places of watches that the loaded references do not know: part of watch_problem, which has their watches.';
