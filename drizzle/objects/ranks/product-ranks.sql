--- Products that are in both stores: an app of each store with one label, and where both stand on the same
--- keyword, location and language, by the latest measurement of each in a range of days. ahead is the store
--- in which it stands better, and distance by how many places; not in the top counts as 101. {{filter}}
create or replace function product_ranks({{days}}, {{tagged}}) returns table (
  product text, role text, keyword text, location text, language text, tags text[], weight double precision,
  ios_rank integer, ios_outcome text, ios_day date, android_rank integer, android_outcome text,
  android_day date, ahead text, distance integer, ios_app integer, android_app integer
) {{begin}}
  with latest as (
    select r.*, coalesce(r.latest_rank, 101) as place
    from rank_summary(in_project, from_day, to_day, null, in_tag, in_location) r
    where r.list = 'keyword' and r.label is not null
  )
  select i.label, i.role, i.keyword, i.location, i.language, i.tags, greatest(i.weight, a.weight),
    i.latest_rank, i.latest_outcome, i.latest_day, a.latest_rank, a.latest_outcome, a.latest_day,
    case when i.place < a.place then 'ios_store' when i.place > a.place then 'android_store' end,
    abs(i.place - a.place), i.app, a.app
  from latest i
  join latest a on (a.label, a.role, a.keyword, a.location_code, a.language)
    = (i.label, i.role, i.keyword, i.location_code, i.language)
  where i.store = 'ios_store' and a.store = 'android_store';
end;
