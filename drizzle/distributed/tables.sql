-- What Citus joins with the history, where it is distributed (docs/scale.md): reference tables, a copy on
-- each node. They say which project has ever asked for which list and app, and hold columns that never
-- change; drizzle/distributed/objects.sql keeps them. They may hold more than is asked for now: what belongs
-- to a period is decided where the rows come together with it.
create table if not exists distributed_project (
  id integer primary key,
  name text not null unique
);
create table if not exists distributed_list (
  target_id integer,
  project_id integer,
  store text not null,
  list text not null,
  keyword text,
  collection text,
  category text,
  location_code integer not null,
  language text not null,
  primary key (target_id, project_id)
);
create table if not exists distributed_app (
  project_id integer,
  app integer,
  store text not null,
  app_id text not null,
  primary key (project_id, app)
);
