create or replace view app_name as
select a.id as app, a.store, a.app_id, a.title, a.developer, a.former_developers from app a;
comment on view app_name is 'Every app that any measurement has shown.';
