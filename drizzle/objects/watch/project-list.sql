--- The keywords and charts of each project, each once, also those that it followed before.
create or replace view project_list as
select p.project, p.store, p.list, p.keyword, p.collection, p.category, p.location, p.location_code,
  p.language, p.tags, p.weight, p.every, p.ended_at, p.target_id
from list_period p
where {{lasts_longest p period_id}};
