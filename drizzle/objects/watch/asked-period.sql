--- What each project asked for, and from when to when.
create or replace view asked_period as
select p.id as period_id, p.project, p.kind, p.target_id, p.every, p.first_slot, p.last_slot, p.ended_at
from watch_period p
where p.target_id is not null;
