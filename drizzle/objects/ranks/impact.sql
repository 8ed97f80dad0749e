create or replace function changed_words(in_text text, in_other text) returns text[]
  language sql immutable parallel safe
return array(
  select distinct w.word from unnest(words_of(in_text)) w (word)
  where not coalesce(w.word = any(words_of(in_other)), false) order by 1
);

--- The words that came to the title or subtitle of an app, or of each own one, on a day, and that went.
create or replace function changed_titles(in_project text, in_day date, in_app_id text, in_words text[])
returns table (
  store text, {{app}}, app integer, added text[], removed text[]
) {{begin}}
  select a.store, {{app a}}, a.app, coalesce(in_words, changed_words(t.new_value, t.old_value)),
    changed_words(t.old_value, t.new_value)
  from project_apps(in_project) a
  cross join lateral (
    select string_agg(c.old_value, ' ') as old_value, string_agg(c.new_value, ' ') as new_value
    from app_changes(in_project, in_day, in_day) c
    where c.app = a.app and c.field in ('title', 'subtitle')
  ) t
  where case when in_app_id is null then a.role = 'own' else a.app_id = in_app_id end;
end;

-- The spans are those of compared_ranks; everybody is compared by the last measurement of each, because the
-- middle rank of each app of a list costs as much as the whole report.
--- What changed with a release, a change of the title or a note: the week (or in_days) before a day beside
--- the week from it on, like for like, for one app or each own one. lists: all keywords that both weeks have
--- measured (compared, of due); where title or subtitle changed on the day also those with words that were
--- added (or that in_words names), those with words that were removed, and the others: the control.
--- rank_before and rank_after are means of the middle rank where it ranked in either week (not found counts
--- as the first rank not looked at), change is places climbed, competitors_change that of competitors which
--- ranked on the same keywords in both; moved is how far the app is from where it was, everybody_moved how
--- far all apps of the same lists are, from the last measurement before the day to the latest.
--- visibility_change is in points. {{filter}}
create or replace function impact(
  in_project text, in_day date, in_app_id text default null, in_days integer default 7,
  in_words text[] default null, in_top integer default 10, {{tagged}}
) returns table (
  store text, {{app}}, lists text, words text[], compared integer, due integer, rank_before numeric,
  rank_after numeric, change numeric, climbed integer, fell integer, top_before integer, top_after integer,
  visibility_change numeric, competitors_change numeric, moved numeric, everybody_moved numeric,
  rating_before real, rating_after real, app integer
) {{begin}}
  with subject as materialized (select * from changed_titles(in_project, in_day, in_app_id, in_words)),
  compared as (
    select c.*, sum(c.change) filter (where c.is_rival) over w as rivals_change,
      count(*) filter (where c.is_rival) over w as rivals
    from (
      select c.*, coalesce(c.rank_before, c.depth + 1) - coalesce(c.rank_after, c.depth + 1) as change,
        c.rank_before is not null or c.rank_after is not null as is_ranked, k.keyword,
        r.role = 'competitor' and c.rank_before is not null and c.rank_after is not null as is_rival
      from compared_ranks(
        in_project, in_day - 1, in_day + in_days - 1, 'reciprocal', in_tag, in_location, in_days) c
      join project_apps(in_project) r on r.app = c.app
      join newest_lists(in_project) k on k.target_id = c.target_id
      where c.list = 'keyword'
    ) c
    window w as (partition by c.target_id)
  ), ends as (
    select b.target_id, b.last_ids as ids_before, n.last_ids as ids_after, m.moved
    from list_ends(in_project, in_day - in_days, in_day - 1, in_tag, in_location) b
    join list_ends(in_project, in_day, in_day + in_days - 1, in_tag, in_location) n using (target_id)
    cross join lateral places_moved(n.last_ids, b.last_ids) m
  ), rating as (
    select r.app, (array_agg(r.rating order by r.day desc) filter (where r.day < in_day))[1] as before,
      (array_agg(r.rating order by r.day desc) filter (where r.day >= in_day))[1] as after
    from ratings_daily(in_project, in_day - in_days, in_day + in_days - 1) r group by r.app
  )
  select s.store, {{app s}}, g.lists,
    case g.lists when 'added' then s.added when 'removed' then s.removed end, count(*)::integer,
    max(c.due)::integer, avg(coalesce(c.rank_before, c.depth + 1)) filter (where c.is_ranked),
    avg(coalesce(c.rank_after, c.depth + 1)) filter (where c.is_ranked),
    avg(c.change) filter (where c.is_ranked), count(*) filter (where c.change > 0)::integer,
    count(*) filter (where c.change < 0)::integer, count(*) filter (where c.rank_before <= in_top)::integer,
    count(*) filter (where c.rank_after <= in_top)::integer,
    (100 * sum(c.worth_after - c.worth_before) / nullif(sum(c.most), 0))::numeric,
    avg((c.rivals_change - case when c.is_rival then c.change else 0 end)::numeric
      / nullif(c.rivals - c.is_rival::integer, 0)),
    avg(abs(coalesce(array_position(e.ids_before, s.app), c.depth + 1)
      - coalesce(array_position(e.ids_after, s.app), c.depth + 1))) filter (where c.is_ranked),
    avg(e.moved), max(r.before), max(r.after), s.app
  from subject s join compared c on c.app = s.app
  join ends e on e.target_id = c.target_id
  cross join lateral (
    select 'all' as lists
    union all
    select case when words_in(s.added, c.keyword) <> '{}' then 'added'
      when words_in(s.removed, c.keyword) <> '{}' then 'removed' else 'others' end
    where s.added || s.removed <> '{}'
  ) g
  left join rating r on r.app = s.app
  group by s.store, {{app s}}, s.added, s.removed, s.app, g.lists;
end;
