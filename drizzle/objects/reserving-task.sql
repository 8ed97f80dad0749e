-- By `task_ending`, by `task_unpacked`, and by the posts that are open: a condition on the state alone would
-- read all tasks of 90 days. The posts are an array, because a join would read all tasks while a table has no
-- statistics.
create or replace view reserving_task as
select k.state, k.target_id, k.slot, k.estimate_micros, k.payers, k.reserved_at
from task k
where k.state = 'planned' and k.post_id is not null
union all
select k.state, k.target_id, k.slot, k.estimate_micros, k.payers, k.reserved_at
from task k
where k.state = 'planned' and k.post_id is null
union all
select k.state, k.target_id, k.slot, k.estimate_micros, k.payers, k.reserved_at
from task k
where k.post_id = any(array(select p.id from post p where p.state <> 'settled'))
  and k.state = (select 'posting');
comment on view reserving_task is
  'The tasks whose money is reserved: those that are planned, and those that are being sent.';
comment on column reserving_task.state is
  'planned, or posting while it is being sent or its answer was lost.';
comment on column reserving_task.target_id is 'The measured target: what ranking, task and charge call it.';
comment on column reserving_task.slot is 'When the measurement was due.';
comment on column reserving_task.estimate_micros is 'What it is expected to cost, in micro-dollars.';
comment on column reserving_task.payers is 'Who pays a share of it: project.id, in ascending order.';
comment on column reserving_task.reserved_at is 'The instant whose day the reservation counts in.';
grant select on reserving_task to storerank_editor, storerank_reader;
