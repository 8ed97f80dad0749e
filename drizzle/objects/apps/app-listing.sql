--- What the page of a watched app said, at every slot that was measured. A filter on day alone reads the
--- whole history: filter by slot.
--- .title: The title then.
--- .subtitle: The line under the title; null where there is none.
--- .description: The description then.
--- .update_notes: What the developer said of the newest version.
--- .languages: The languages of the app, as its page names them: of the ios_store.
--- .similar_apps: Apps that the page shows beside it: a list of appId and title.
create or replace view app_listing as
select s.project, t.store, a.app_id, a.label, a.role, a.tags,
  (s.slot at time zone j.timezone)::date as day, {{place t l}}, s.slot, g.title,
  g.details ->> 'subtitle' as subtitle, g.description, g.update_notes,
  array(select jsonb_array_elements_text(jsonb_path_query_array(g.details, '$.languages[*]'))) as languages,
  jsonb_path_query_array(g.details, '$.similarApps[*]') as similar_apps, s.target_id, s.app
from app_slot s
join app_snapshot h on h.target_id = s.target_id and h.slot = s.slot
join listing g on g.hash = h.listing_hash
join project j on j.name = s.project
join target t on t.id = s.target_id
left join location l on l.store = t.store and l.code = t.location_code
join project_app a on a.project = s.project and a.app = s.app
where s.gap is null;

-- Marks are named one by one, because what a letter is depends on the collation of the database.
--- The words of a text, in small letters. Japanese, Chinese and Thai text is not divided within a phrase.
create or replace function words_of(in_text text) returns text[] language sql immutable parallel safe
return array_remove(regexp_split_to_array(folded_subject(in_text),
  '[\s!"$%&''()*,./:;<=>?@\\^_`{|}~\[\]\u2010-\u2027\u3000-\u303f\u30fb\uff00-\uff0f-]+'), '');

--- Which of these words a text has: as a whole word, or anywhere in it where the script has no spaces.
create or replace function words_in(in_words text[], in_text text) returns text[]
  language sql immutable parallel safe
return array(
  select w.word from unnest(in_words) with ordinality w (word, n)
  where case when w.word ~ '[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]'
    then strpos(folded_subject(in_text), w.word) > 0 else w.word = any(words_of(in_text)) end
  order by w.n
);

-- A stretch is the time in which a page did not change; `until` is the day of the next one. Of several pages
-- of an app the keyword takes the one of its location, else of its language.
--- Which words of a keyword each app had in its title, subtitle and description on the days on which it was
--- ranked on it: found, of words (is_whole: all of them), from first_day to last_day of that text, and how it
--- stood then. Of the apps whose page is followed (info). middle_rank is the median of the measured days,
--- null: not in the top. {{filter}}
create or replace function coverage_of_titles({{days}}, {{tagged}}) returns table (
  {{keyword}}, {{app}}, field text, text text, words text[], found text[], is_whole boolean, first_day date,
  last_day date, days_measured integer, days_ranked integer, best_rank integer, middle_rank integer,
  latest_rank integer, target_id integer, app integer
) {{begin}}
  with page as (
    select * from (
      select l.*, lag((l.title, l.subtitle, l.description)) over (partition by l.target_id order by l.slot)
        is distinct from (l.title, l.subtitle, l.description) as is_changed
      from app_listing l
      where l.project = in_project and l.slot >= (from_day - 32) + timetz '00:00+00'
        and l.slot < (to_day + 2) + timetz '00:00+00'
    ) l
    where l.is_changed
  ), stretch as (
    select p.*, lead(p.day, 1, 'infinity') over (partition by p.target_id order by p.slot) as until
    from page p
  ), worded as (
    select k.target_id, s.app, s.day, s.until, f.field, f.text, words_of(k.keyword) as words,
      words_in(words_of(k.keyword), f.text) as found
    from newest_lists(in_project) k
    join stretch s on s.store = k.store and s.target_id = (
      select p.target_id from page p where p.app = s.app
      order by p.location_code = k.location_code desc, p.language = k.language desc, p.target_id limit 1
    )
    cross join lateral (
      values ('title', s.title), ('subtitle', s.subtitle), ('description', s.description)
    ) f (field, text)
    where k.list = 'keyword' and f.text is not null and is_of(k.tags, k.location, in_tag, in_location)
  )
  select {{keyword d}}, {{app d}}, w.field, case when w.field <> 'description' then w.text end,
    w.words, w.found, w.found = w.words, min(d.day), max(d.day), count(*)::integer, count(d.rank)::integer,
    min(d.rank), nullif(percentile_disc(0.5) within group (order by coalesce(d.rank, 32767)), 32767),
    (array_agg(d.rank order by d.day desc))[1], d.target_id, d.app
  from worded w
  join rank_daily(in_project, from_day, to_day, in_tag, in_location) d on d.target_id = w.target_id
    and d.app = w.app and d.day >= w.day and d.day < w.until and d.outcome in ('ranked', 'not_in_top')
  group by {{keyword d}}, {{app d}}, w.field, w.text, w.words, w.found, d.target_id, d.app;
end;

--- Where competitors are and a project is not, by the latest measurements of a range of days. By language of
--- their listings (location is null): not_in_listing (no own app has it), or not_followed (no keyword is
--- followed in it). By location and language that are followed: not_ranked (competitors rank on missed
--- keywords, own apps on none). Languages are those that the pages of the ios_store name. With a tag or a
--- location, of keywords that have it.
create or replace function localization_gaps({{days}}, {{tagged}}) returns table (
  store text, language text, location text, gap text, competitors text[], own_apps text[], keywords integer,
  own_ranked integer, competitors_ranked integer, missed integer
) {{begin}}
  with spoken as (
    select distinct l.store, l.role, coalesce(l.label, l.title) as name,
      lower(split_part(g.language, '-', 1)) as language
    from (
      select distinct on (n.target_id) n.* from app_listing n
      where n.project = in_project and n.day <= to_day and n.slot >= (from_day - 32) + timetz '00:00+00'
        and n.slot < (to_day + 2) + timetz '00:00+00'
      order by n.target_id, n.slot desc
    ) l
    cross join lateral unnest(l.languages) g (language)
  ), standing as (
    select e.store, e.location, lower(split_part(e.language, '-', 1)) as language,
      bool_or(a.role = 'own') as has_own, bool_or(a.role = 'competitor') as has_competitor,
      array_agg(coalesce(a.label, a.title)) filter (where a.role = 'competitor') as competitors
    from list_ends(in_project, from_day, to_day, in_tag, in_location) e
    left join project_apps(in_project) a on a.store = e.store and a.ended_at is null
      and a.app = any(e.last_ids)
    where e.list = 'keyword'
    group by e.store, e.location, e.language, e.target_id
  ), place as (
    select s.store, s.language, s.location, count(*)::integer as keywords,
      (count(*) filter (where s.has_own))::integer as own_ranked,
      (count(*) filter (where s.has_competitor))::integer as competitors_ranked,
      (count(*) filter (where s.has_competitor and not s.has_own))::integer as missed,
      array(select distinct c.name from standing o cross join unnest(o.competitors) c (name)
        where o.store = s.store and o.language = s.language and o.location = s.location order by 1) as names
    from standing s
    group by s.store, s.language, s.location
  )
  select p.store, p.language, p.location, 'not_ranked', p.names,
    array(select distinct o.name from spoken o
      where o.store = p.store and o.language = p.language and o.role = 'own' order by 1),
    p.keywords, p.own_ranked, p.competitors_ranked, p.missed
  from place p where p.missed > 0 and p.own_ranked = 0
  union all
  select c.store, c.language, null, c.gap, c.names, c.own_names, c.keywords, c.own_ranked,
    c.competitors_ranked, c.missed
  from (
    select s.store, s.language,
      array_agg(distinct s.name order by s.name) filter (where s.role = 'competitor') as names,
      coalesce(array_agg(distinct s.name order by s.name) filter (where s.role = 'own'), '{}') as own_names,
      case when bool_and(s.role <> 'own') then 'not_in_listing' when p.keywords = 0 then 'not_followed' end
        as gap, p.keywords, p.own_ranked, p.competitors_ranked, p.missed
    from spoken s
    cross join lateral (
      select coalesce(sum(o.keywords), 0)::integer as keywords,
        coalesce(sum(o.own_ranked), 0)::integer as own_ranked,
        coalesce(sum(o.competitors_ranked), 0)::integer as competitors_ranked,
        coalesce(sum(o.missed), 0)::integer as missed
      from place o where o.store = s.store and o.language = s.language
    ) p
    group by s.store, s.language, p.keywords, p.own_ranked, p.competitors_ranked, p.missed
  ) c
  where c.names is not null and c.gap is not null and in_location is null;
end;
