create or replace view pending_snapshot as
select s.period_id, s.project, s.kind, s.target_id, s.every, s.slot
from open_slot s
where s.kind in ('app', 'reviews')
  and not exists (select from app_snapshot h where h.target_id = s.target_id and h.slot = s.slot offset 0);
comment on view pending_snapshot is
  'The slots of pages and reviews of apps that a watch period asked for and the history has no row of: '
  'the current one, and older ones until they are closed.';
comment on column pending_snapshot.period_id is 'The watch period: watch_period.id.';
comment on column pending_snapshot.project is 'The project.';
comment on column pending_snapshot.kind is 'app (its page) or reviews.';
comment on column pending_snapshot.target_id is 'The measured target: what ranking, task and charge call it.';
comment on column pending_snapshot.every is 'How often it is asked for.';
comment on column pending_snapshot.slot is 'When the measurement was due.';
grant select on pending_snapshot to storerank_editor, storerank_reader;
