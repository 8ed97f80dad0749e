--- The slots of pages and reviews of apps that a watch period asked for and the history has no row of: the
--- current one, and older ones until they are closed.
create or replace view pending_snapshot as
select s.period_id, s.project, s.kind, s.target_id, s.every, s.slot
from open_slot s
where s.kind in ('app', 'reviews')
  and (select true from app_snapshot h where h.target_id = s.target_id and h.slot = s.slot) is null;
