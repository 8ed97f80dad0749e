--- Who held the top of each keyword of a project at its last measurement in a range of days, with the votes
--- and rating that were known by then, whether the title has all words of the keyword, the rank at the first
--- measurement of the range, and why it can be overtaken: an own app for no reason.
create or replace function top_strengths({{days}}, in_top integer default 10, {{tagged}}) returns table (
  {{keyword}}, target_id integer, day date, rank integer, app integer, app_id text, title text, votes integer,
  rating numeric, has_words boolean, rank_before integer, is_compared boolean, own_rank integer,
  updated_on date, reasons text[]
) {{begin}}
  with list as (
    select e.*, (
      select min(array_position(e.last_ids, a.app)) from project_apps(in_project) a
      where a.role = 'own' and a.ended_at is null and a.store = e.store
    ) as own_rank
    from list_ends(in_project, from_day, to_day, in_tag, in_location) e where e.list = 'keyword'
  ), held as (
    select l.target_id, h.app, h.rank from list l
    cross join lateral unnest(l.last_ids[:in_top]) with ordinality h (app, rank)
    where h.app > 0
  ), number as materialized (
    select distinct on (n.app, n.location_code) n.* from numbers_until(to_day, to_day,
      array(select distinct l.location_code from list l), array(select distinct h.app from held h)) n
    order by n.app, n.location_code, n.day desc
  ), strength as (
    select l.*, h.rank::integer, h.app, a.app_id, a.title, n.votes, n.rating,
      words_in(words_of(l.keyword), a.title) = words_of(l.keyword) as has_words,
      array_position(l.first_ids, h.app) as rank_before
    from list l
    join held h on h.target_id = l.target_id
    join app_name a on a.app = h.app
    left join number n on n.app = h.app and n.location_code = l.location_code
  ), middle as (
    select target_id, percentile_disc(0.5) within group (order by votes) as votes from strength group by 1
  ), page as materialized (
    select h.app, max(h.updated_at)::date as updated_on from app_history h
    where h.project = in_project and h.slot >= (to_day - 31) + timetz '00:00+00'
      and h.slot < (to_day + 2) + timetz '00:00+00'
    group by 1
  )
  select {{keyword s}}, s.target_id, s.last_day, s.rank, s.app, s.app_id, s.title, s.votes, s.rating,
    s.has_words, s.rank_before,
    s.first_day < s.last_day, s.own_rank, p.updated_on, case when o.app is null then array_remove(array[
      case when s.votes * 10 < m.votes then 'few votes' end,
      case when s.rating < 4 then 'low rating' end,
      case when p.updated_on < to_day - 365 then 'old' end,
      case when s.rank - s.rank_before >= 3 then 'fell' end
    ], null) else '{}' end
  from strength s
  join middle m on m.target_id = s.target_id
  left join page p on p.app = s.app
  left join project_apps(in_project) o on o.app = s.app and o.role = 'own';
end;

--- How hard it is to enter the top 10 of each keyword, 0 to 100, at its last measurement in a range of days:
--- 40 % votes (log10(1 + votes) / 6, at most 1, which is a million), 20 % rating ((stars - 3) / 2), 20 %
--- titles that have all words of the keyword, 20 % apps that were in the top 10 at the first measurement of
--- the range too (stayed), each as the average of the top 10. What nothing is known of is left out, and the
--- rest weighs more. Titles are those known now. weak: how many weak_spots names. {{filter}}
create or replace function difficulty({{days}}, {{tagged}}) returns table (
  {{keyword}}, difficulty numeric, apps integer, middle_votes integer, average_rating numeric,
  with_words integer, stayed integer, weak integer, own_rank integer, day date, target_id integer
) {{begin}}
  select {{keyword s}},
    round((100 * (0.4 * coalesce(s.votes, 0) + 0.2 * coalesce(s.rating, 0) + 0.2 * s.words
        + 0.2 * coalesce(s.still, 0))
      / (0.2 + case when s.votes is null then 0 else 0.4 end + case when s.rating is null then 0 else 0.2 end
        + case when s.still is null then 0 else 0.2 end))::numeric, 1),
    s.apps, s.middle_votes, s.average_rating, s.with_words, s.stayed, s.weak, s.own_rank, s.day, s.target_id
  from (
    select {{keyword t}}, t.target_id, t.day, t.own_rank, count(*)::integer as apps,
      avg(least(1, log(1 + t.votes) / 6)) as votes, avg(greatest(0, t.rating - 3) / 2) as rating,
      count(*) filter (where t.has_words)::numeric / 10 as words,
      case when bool_and(t.is_compared)
        then count(*) filter (where t.rank_before <= 10)::numeric / 10 end as still,
      percentile_disc(0.5) within group (order by t.votes) as middle_votes,
      round(avg(t.rating), 2) as average_rating,
      (count(*) filter (where t.has_words))::integer as with_words,
      case when bool_and(t.is_compared)
        then (count(*) filter (where t.rank_before <= 10))::integer end as stayed,
      (count(*) filter (where t.reasons <> '{}'))::integer as weak
    from top_strengths(in_project, from_day, to_day, 10, in_tag, in_location) t
    group by {{keyword t}}, t.target_id, t.day, t.own_rank
  ) s;
end;

--- Apps in the top 10 of a keyword that can be overtaken, and why: few votes (under a tenth of the middle of
--- the top 10), low rating (under 4), old (no update for a year, of apps whose page is followed), fell (3
--- ranks or more since the first measurement of the range). Without own apps. {{filter}}
create or replace function weak_spots({{days}}, {{tagged}}) returns table (
  {{keyword}}, rank integer, app_id text, title text, votes integer, rating numeric, rank_before integer,
  updated_on date, reasons text[], own_rank integer, day date, target_id integer, app integer
) {{begin}}
  select {{keyword s}}, s.rank, s.app_id, s.title, s.votes, s.rating, s.rank_before, s.updated_on, s.reasons,
    s.own_rank, s.day, s.target_id, s.app
  from top_strengths(in_project, from_day, to_day, 10, in_tag, in_location) s
  where s.reasons <> '{}';
end;

--- Which keywords are worth work: weight × what could be won (to_win: 1 - 1/rank of the best own app, a
--- missing one being 101st) × what stands in the way: (100 - difficulty) / 100, and 10 / (10 + rank),
--- because who is far off arrives seldom. {{filter}}
create or replace function opportunity({{days}}, {{tagged}}) returns table (
  {{keyword}}, opportunity numeric, own_rank integer, to_win numeric, difficulty numeric, weak integer,
  day date, target_id integer
) {{begin}}
  select {{keyword d}},
    round((d.weight * (1 - 1.0 / r.rank) * (1 - d.difficulty / 100) * 10 / (10 + r.rank))::numeric, 3),
    d.own_rank, round(1 - 1.0 / r.rank, 3), d.difficulty, d.weak, d.day, d.target_id
  from difficulty(in_project, from_day, to_day, in_tag, in_location) d
  cross join lateral (select coalesce(d.own_rank, 101) as rank) r;
end;
