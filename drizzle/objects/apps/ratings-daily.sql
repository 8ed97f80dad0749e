--- Rating, votes and reviews of each app whose page a project follows, by day, from the last measurement of
--- the day; and what has changed since the day before that was measured, within the range. {{filter}}
create or replace function ratings_daily({{days}}, {{tagged}}) returns table (
  day date, store text, {{app}}, tags text[], location text, location_code integer, language text,
  rating real, rating_change real, votes_count bigint, votes_change bigint, reviews_count bigint,
  reviews_change bigint, app integer
) {{begin}}
  select d.day, d.store, {{app d}}, d.tags, d.location, d.location_code, d.language, d.rating,
    d.rating - lag(d.rating) over w, d.votes_count, d.votes_count - lag(d.votes_count) over w,
    d.reviews_count, d.reviews_count - lag(d.reviews_count) over w, d.app
  from (
    select distinct on (s.target_id, s.day) s.*
    from app_history s
    where s.project = in_project and s.day between from_day and to_day and s.outcome = 'measured'
      and is_of(s.tags, s.location, in_tag, in_location) and {{in_days s.slot}}
    order by s.target_id, s.day, s.slot desc
  ) d
  window w as (partition by d.target_id order by d.day);
end;
