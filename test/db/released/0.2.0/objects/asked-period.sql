create or replace view asked_period as
select p.id as period_id, p.project, p.kind, p.target_id, p.every, p.first_slot, p.last_slot, p.ended_at
from watch_period p
where p.target_id is not null;
comment on view asked_period is
  'What each project asked for, and from when to when.';
comment on column asked_period.period_id is 'The watch period: watch_period.id.';
comment on column asked_period.project is 'The project.';
comment on column asked_period.kind is 'keyword, chart, app (its page) or reviews.';
comment on column asked_period.target_id is 'The measured target: what ranking, task and charge call it.';
comment on column asked_period.every is 'How often it asked for it.';
comment on column asked_period.first_slot is 'The first slot of the period.';
comment on column asked_period.last_slot is 'Its last slot; null while it goes on.';
comment on column asked_period.ended_at is 'When the period ended; null while it goes on.';
grant select on asked_period to storerank_editor, storerank_reader;
