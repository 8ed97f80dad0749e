-- Two views, because a plan opens every partition of the history that it may need: ranks need none of the
-- pages.
--- The slots that a watch period asked for and the history has no row of: the current one, and older ones
--- until they are closed.
create or replace view pending_slot as
select r.period_id, r.project, r.kind, r.target_id, r.every, r.slot from pending_ranking r
union all
select s.period_id, s.project, s.kind, s.target_id, s.every, s.slot from pending_snapshot s;
