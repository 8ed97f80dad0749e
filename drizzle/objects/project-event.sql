create or replace view project_event as
select n.project, n.day, 'annotation' as kind, a.store, n.app_id, a.title, a.label, a.role, n.text
from annotation n
left join project_app a on a.project = n.project and a.app_id = n.app_id
union all
select c.project, c.day, 'release', c.store, c.app_id, c.title, c.label, c.role, concat_ws(' → ', c.old_value, c.new_value)
from app_change c
where c.field = 'version'
group by c.project, c.day, c.store, c.app_id, c.title, c.label, c.role, c.old_value, c.new_value;
comment on view project_event is
  'What may explain a move of the ranks: the notes of a project on its days, and the releases of its apps, whichever of their pages showed them.';
comment on column project_event.project is 'The project.';
comment on column project_event.day is 'The day, in the time zone of the project; of a release when its page first showed it.';
comment on column project_event.kind is 'annotation or release.';
comment on column project_event.store is 'ios_store or android_store; null for a note on all apps, or on one that the project has not.';
comment on column project_event.app_id is 'The id of the app in its store; null for a note on all apps.';
comment on column project_event.title is 'The title of the app, as last seen; null until a result names it.';
comment on column project_event.label is 'What the project calls the app.';
comment on column project_event.role is 'own or competitor, as last said.';
comment on column project_event.text is 'The note; of a release the old and the new version.';
grant select on project_event to storerank_editor, storerank_reader;
