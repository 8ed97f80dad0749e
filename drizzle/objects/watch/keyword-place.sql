--- The places and languages that watches of keywords have.
create or replace view keyword_place as
with recursive place as (
  -- One row of the index per place, each found behind the one before.
  (select k.store, coalesce(k.location_code, 0) as code, coalesce(k.location_name, '') as name,
    k.language_code
  from keyword_watch k order by 1, 2, 3, 4 limit 1)
  union all
  select further.* from place p
  cross join lateral (
    select k.store, coalesce(k.location_code, 0), coalesce(k.location_name, ''), k.language_code
      from keyword_watch k
    where (k.store, coalesce(k.location_code, 0), coalesce(k.location_name, ''), k.language_code)
      > (p.store, p.code, p.name, p.language_code)
    order by 1, 2, 3, 4 limit 1
  ) further
)
select * from place;
