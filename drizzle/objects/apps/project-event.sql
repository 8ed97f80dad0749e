--- The rows of project_event of a project in a range of its days. Reads the partitions of the range alone, as
--- app_changes does.
create or replace function project_events({{days}}) returns table (
  day date, kind text, store text, {{app}}, text text, tags text[], app integer
) {{begin}}
  select n.day, 'annotation', a.store, n.app_id, a.title, a.label, a.role, n.text, coalesce(a.tags, '{}'),
    a.app
  from annotation n
  left join project_app a on a.project = n.project and a.app_id = n.app_id
  where n.project = in_project and n.day between from_day and to_day
  union all
  select distinct c.day, 'release', c.store, {{app c}}, concat_ws(' → ', c.old_value, c.new_value), c.tags,
    c.app
  from app_changes(in_project, from_day, to_day) c
  where c.field = 'version';
end;

-- Not by project_events: what a function reads is read with the rights of who asks the view.
--- What may explain a move of the ranks: the notes of a project on its days, and the releases of its apps,
--- whichever of their pages showed them. A filter on day alone reads the whole history of the pages: ask
--- project_events(project, from, to).
--- .day: The day, in the time zone of the project; of a release when its page first showed it.
--- .kind: annotation or release.
--- .store: ios_store or android_store; null for a note on all apps, or on one that the project has not.
--- .text: The note; of a release the old and the new version.
create or replace view project_event as
select n.project, n.day, 'annotation' as kind, a.store, n.app_id, a.title, a.label, a.role, n.text,
  coalesce(a.tags, '{}') as tags, a.app
from annotation n
left join project_app a on a.project = n.project and a.app_id = n.app_id
union all
select c.project, c.day, 'release', c.store, {{app c}}, concat_ws(' → ', c.old_value, c.new_value), c.tags,
  c.app
from app_change c
where c.field = 'version'
group by c.project, c.day, c.store, {{app c}}, c.tags, c.app, c.old_value, c.new_value;
