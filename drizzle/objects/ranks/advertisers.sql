-- `strpos` is asked first, because dividing the titles of all apps into words takes seconds.
--- What the own apps of a project are called: their labels, and their titles up to the first mark, but for
--- words that three other developers have in a title: a name such as Sleep says what an app is.
create or replace function own_names(in_project text) returns text[] language sql stable parallel safe
return array(
  select distinct n.name from project_apps(in_project) a
  join app_name d on d.app = a.app
  cross join lateral unnest(
    array[a.label, regexp_replace(a.title, '\s*([:|,(\u2013\u2014]|\s-\s).*$', '')]
  ) n (name)
  where a.role = 'own' and char_length(n.name) > 2 and 3 > (
    select count(distinct o.developer) from app_name o
    where strpos(lower(o.title), lower(n.name)) > 0 and words_in(words_of(n.name), o.title) = words_of(n.name)
      and o.developer <> d.developer
  )
);

--- Whether a keyword asks for an app by its name: it has the tag brand, or all words of one of these names.
create or replace function is_brand(in_keyword text, in_tags text[], in_names text[]) returns boolean
  language sql immutable parallel safe
return 'brand' = any(in_tags)
  or exists (select from unnest(in_names) name where words_in(words_of(name), in_keyword) = words_of(name));

--- Who advertised on the keywords and charts of a project, by day: place counts all results, rank is the one
--- that the advertised app has by itself there, own_rank that of the best own app. is_own_brand: the keyword
--- has the tag brand, or the name of an own app (its label, or its title up to the first mark), which
--- own_names has. {{filter}}
create or replace function advertisers({{days}}, {{tagged}}) returns table (
  day date, {{list}}, place integer, app_id text, title text, developer text, role text, rank integer,
  own_rank integer, is_own_brand boolean, target_id integer, app integer
) {{begin}}
  with own as materialized (
    select a.app, a.store from project_apps(in_project) a where a.role = 'own' and a.ended_at is null
  ), brand as materialized (
    select l.target_id from newest_lists(in_project) l
    where l.list = 'keyword' and is_brand(l.keyword, l.tags, (select own_names(in_project)))
  )
  select d.day, {{list d}}, paid.place::integer, n.app_id, n.title, n.developer, a.role,
    array_position(d.app_ids, paid.app),
    (select min(array_position(d.app_ids, o.app)) from own o where o.store = d.store),
    b.target_id is not null, d.target_id, paid.app
  from list_daily(in_project, from_day, to_day) d
  cross join lateral unnest(d.paid_ids, d.paid_places) paid (app, place)
  join app_name n on n.app = paid.app
  left join brand b on b.target_id = d.target_id
  left join project_apps(in_project) a on a.app = paid.app and a.ended_at is null
  where d.paid_ids is not null and is_of(d.tags, d.location, in_tag, in_location);
end;
