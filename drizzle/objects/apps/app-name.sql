--- Every app that any measurement has shown.
create or replace view app_name as
select a.id as app, a.store, a.app_id, a.title, a.developer, a.former_developers from app a;
