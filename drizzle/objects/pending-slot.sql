-- Two views, because a plan opens every partition of the history that it may need: ranks need none of the
-- pages.
create or replace view pending_slot as
select r.period_id, r.project, r.kind, r.target_id, r.every, r.slot from pending_ranking r
union all
select s.period_id, s.project, s.kind, s.target_id, s.every, s.slot from pending_snapshot s;
comment on view pending_slot is
  'The slots that a watch period asked for and the history has no row of: the current one, and older '
  'ones until they are closed.';
comment on column pending_slot.period_id is 'The watch period: watch_period.id.';
comment on column pending_slot.project is 'The project.';
comment on column pending_slot.kind is 'keyword, chart, app (its page) or reviews.';
comment on column pending_slot.target_id is 'The measured target: what ranking, task and charge call it.';
comment on column pending_slot.every is 'How often it is asked for.';
comment on column pending_slot.slot is 'When the measurement was due.';
grant select on pending_slot to storerank_editor, storerank_reader;
