-- One row per app, from the period that lasts longest: an app may be watched in several places, and a row
-- without a label hides none. Not `distinct on`, whose result the planner takes for one row. Grouped by its
-- keys, so that the planner joins it as a whole, with or without statistics.
--- The apps of each project: each is ranked on every keyword that the project has in the same store.
create or replace view project_app as
select p.project, a.store, a.app_id, a.title, coalesce(p.label, (
    select l.label from watch_period l
    where l.kind = 'app' and l.project = p.project and l.app = p.app and l.label is not null
    order by coalesce(l.ended_at, 'infinity') desc, l.id desc limit 1
  )) as label, p.role, p.ended_at, p.app,
  coalesce((select w.tags from app_watch w where w.id = p.watch_id), '{}') as tags
from watch_period p
join app a on a.id = p.app
where p.kind = 'app' and not exists (
  select from watch_period longer
  where longer.kind = 'app' and longer.project = p.project and longer.app = p.app
    and (coalesce(longer.ended_at, 'infinity'), longer.id) > (coalesce(p.ended_at, 'infinity'), p.id)
)
group by p.id, a.id;

-- `strict` for the same reason as project_lists.
create or replace function project_apps(in_project text)
returns table (
  store text, app_id text, title text, label text, role text, ended_at timestamptz, app integer, tags text[]
) language sql stable strict parallel safe rows 10
begin atomic
  select a.store, a.app_id, a.title, a.label, a.role, a.ended_at, a.app, a.tags
  from project_app a
  where a.project = in_project;
end;

-- Few columns, those of fixed length first: it is read once for each list and day.
--- The apps of one project by their numbers in the dictionary, and until when they are ranked: infinity while
--- they are watched. Those of a store with one end are a cohort, which is a number below 0.
create or replace function project_app_ids(in_project text)
returns table (app integer, cohort integer, ended_at timestamptz, store text)
language sql stable strict parallel safe rows 10
begin atomic
  select a.app, -dense_rank() over (order by a.store, coalesce(a.ended_at, 'infinity'))::integer,
    coalesce(a.ended_at, 'infinity'), a.store
  from project_app a where a.project = in_project;
end;

--- The apps of project_app_ids, beside them each of their cohorts, and in each store everybody: 0.
create or replace function project_cohorts(in_project text)
returns table (member integer, ended_at timestamptz, store text)
language sql stable strict parallel safe rows 10
begin atomic
  select a.app, a.ended_at, a.store from project_app_ids(in_project) a
  union
  select a.cohort, a.ended_at, a.store from project_app_ids(in_project) a
  union
  select 0, 'infinity', s.store from (values ('ios_store'), ('android_store')) s (store);
end;
