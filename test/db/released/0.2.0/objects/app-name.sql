create or replace view app_name as
select a.id as app, a.store, a.app_id, a.title, a.developer from app a;
comment on view app_name is
  'Every app that any measurement has shown.';
comment on column app_name.app is 'The app in the dictionary: app.id.';
comment on column app_name.store is 'ios_store or android_store.';
comment on column app_name.app_id is 'The id of the app in its store.';
comment on column app_name.title is 'The title of the app, as last seen; null until a result names it.';
comment on column app_name.developer is 'The developer, as last seen.';
grant select on app_name to storerank_editor, storerank_reader;
