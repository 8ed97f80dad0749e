-- What a project is most likely by mistake. A project that is only named in a watch is made without a word,
-- and a mistyped name with it.

-- The name without what people mix up: case, spaces and punctuation. The collation "C" first, because that of
-- the database may be Turkish, where I is not the capital of i.
create or replace function folded_name(name text) returns text language sql immutable parallel safe
return translate(lower(lower(name collate "C") collate "default"), ' -_./,:;()''"', '');

-- Two names that are one letter apart (typed once too often, left out, replaced or swapped) have one of these
-- texts in common. Numbers and words of less than five letters stay whole: client a and client b, or de and
-- fr, are no slips of the pen.
create or replace function misspellings(name text) returns setof text language sql immutable parallel safe
begin atomic
  select folded_name(name)
  union
  select folded_name(overlay(name placing '' from letter.place for 1))
  from generate_series(1, char_length(name)) letter (place)
  where char_length(substring(left(name, letter.place) from '[^ _./,:;()0-9-]*$')
    || substring(substr(name, letter.place + 1) from '^[^ _./,:;()0-9-]*')) >= 5
    and substr(name, letter.place, 1) !~ '[ _./,:;()0-9-]';
end;

-- Only of projects of which something is told the watches are read, and alike ones are priced once.
--- Projects that are there most likely by mistake: mistyped, or without an app. A row is a sentence, and what
--- the project costs a month; `import` and `plan` show them before it costs, and watch_problem has them too.
--- .monthly_usd: What all that it watches costs in 30 days, shared with nobody.
create or replace view project_problem as
with spelling as (
  select p.id, p.name, m.text from project p cross join lateral misspellings(p.name) m (text)
), near as (
  -- The younger of the two is told.
  select younger.name, min(older.id) as older_id
  from spelling younger
  join spelling older on older.text = younger.text and older.id < younger.id
  where younger.text <> ''
  group by younger.name
), suspect as materialized (
  select p.id, p.name, older.name as older_name
  from project p
  left join near on near.name = p.name
  left join project older on older.id = near.older_id
  where p.enabled and (older.name is not null
    or not exists (select from app_watch a where a.project = p.name and a.enabled))
)
select p.id as project_id, p.name as project, told.problem, told.message,
  (cost.micros * 0.000001)::numeric(14, 6) as monthly_usd
from suspect p
join lateral (
  select sum(w.watches) as parts, sum(w.watches) filter (where w.kind in ('keyword', 'chart')) as lists,
    coalesce(sum(w.watches) filter (where w.kind = 'app'), 0) as apps,
    coalesce(sum(w.watches * (task_price(w.depth::smallint, u.unit_results, u.unit_micros) * 2592000
      / extract(epoch from w.every))), 0) as micros
  from (
    select k.kind, k.store, k.function, k.priority, k.depth, k.every, count(*) as watches
    from watch_part k
    where k.project = p.name and k.is_wanted
    group by 1, 2, 3, 4, 5, 6
  ) w
  left join unit_price u on u.store = w.store and u.function = w.function and u.priority = w.priority
) cost on cost.parts > 0
cross join lateral (
  select 'project_nearly_another' as problem,
    format('The project "%s" is called almost like "%s", and is measured by itself, at %s a month. '
    'If "%s" was meant: update keyword_watch set project = %L where project = %L; likewise app_watch '
    'and chart_watch.',
    p.name, p.older_name, dollars(cost.micros::bigint), p.older_name, p.older_name, p.name) as message
  where p.older_name is not null
  union all
  select 'project_without_app',
    format('The project "%s" has %s and no app, so that nobody is ranked, at %s a month. Name its apps: '
    'insert into app_watch (project, store, app_id) values (%L, ''ios_store'', ''1480010017'').',
    p.name, case cost.lists when 1 then 'one keyword or chart' else cost.lists || ' keywords and charts' end,
    dollars(cost.micros::bigint), p.name)
  where p.older_name is null and cost.apps = 0 and cost.lists > 0
) told;
