create or replace view ended_task as
select k.ended_at, k.state, g.store, g.function, k.slot, k.posted_at
from task k
join target g on g.id = k.target_id
where k.ended_at is not null;
comment on view ended_task is
  'The tasks of the past 90 days that have ended: what was stored, how late, and what failed. Filter by'
  ' ended_at, which has an index.';
comment on column ended_task.ended_at is 'When it ended: of a collected one, when its result was stored.';
comment on column ended_task.state is 'collected, failed or dropped.';
comment on column ended_task.store is 'ios_store or android_store.';
comment on column ended_task.function is 'app_searches, app_list, app_info or app_reviews.';
comment on column ended_task.slot is 'When the measurement was due.';
comment on column ended_task.posted_at is 'When the service took it; null when it never did.';
grant select on ended_task to storerank_editor, storerank_reader;
