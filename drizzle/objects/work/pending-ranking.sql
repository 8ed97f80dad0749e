--- The slots of keywords and charts that a watch period asked for and the history has no row of: the current
--- one, and older ones until they are closed.
create or replace view pending_ranking as
select s.period_id, s.project, s.kind, s.target_id, s.every, s.slot
from open_slot s
where s.kind in ('keyword', 'chart')
  and (select true from ranking_row r where r.target_id = s.target_id and r.slot = s.slot) is null;

-- What pending_ranking says, with the range once more for the history, by which all other partitions are left
-- out before they are opened. `strict` for the same reason as project_lists.
--- The rows of pending_ranking of a project in a range of its days, and some of the days beside it.
create or replace function pending_rankings({{days}})
returns table (period_id bigint, target_id integer, slot timestamptz)
language sql stable strict parallel safe rows 1000
begin atomic
  select s.period_id, s.target_id, s.slot
  from open_slot s
  where s.project = in_project and s.kind in ('keyword', 'chart') and {{in_days s.slot}}
    and not exists (
      select from ranking_row r
      where r.target_id = s.target_id and r.slot = s.slot and {{in_days r.slot}}
    );
end;
