-- By `task_ending`, by `task_unpacked`, and by the posts that are open: a condition on the state alone would
-- read all tasks of 90 days. The posts are an array, because a join would read all tasks while a table has no
-- statistics.
--- The tasks whose money is reserved: those that are planned, and those that are being sent.
--- .state: planned, or posting while it is being sent or its answer was lost.
create or replace view reserving_task as
select k.state, k.target_id, k.slot, k.estimate_micros, k.payers, k.reserved_at
from task k
where k.attempt > 0 and k.state = 'planned' and k.post_id is not null
union all
select k.state, k.target_id, k.slot, k.estimate_micros, k.payers, k.reserved_at
from task k
where k.attempt > 0 and k.state = 'planned' and k.post_id is null
union all
select k.state, k.target_id, k.slot, k.estimate_micros, k.payers, k.reserved_at
from task k
where k.post_id = any(array(select p.id from post p where p.state <> 'settled')) and k.state = 'posting';
