--- The tasks of the past 90 days that have ended: what was stored, how late, and what failed. Filter by
--- ended_at, which has an index.
--- .ended_at: When it ended: of a collected one, when its result was stored.
--- .state: collected, failed or dropped.
create or replace view ended_task as
select k.ended_at, k.state, g.store, g.function, k.slot, k.posted_at
from task k
join target g on g.id = k.target_id
where k.ended_at is not null;
