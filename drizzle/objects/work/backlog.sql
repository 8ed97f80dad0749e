-- A look costs the same however much has been done: what is posted or late is counted by partial indexes.
-- Tasks in a post that is being sent, or whose answer was lost, are looked up by the post, behind an
-- optimization fence: while a table has no statistics a join would read all of them. The clock is a subquery,
-- because a volatile function is no bound of an index scan.
--- The tasks and due slots that have not ended, by kind, as open_work has them; told where there are any.
--- .kind: planned, unplanned, posting, posted, overdue or budget_cut.
create or replace view backlog as
select 'planned' as kind, count(*) as count, min(k.slot) as since, null::text as message
  from reserving_task k where k.state = 'planned'
union all
-- Until it is opened a slot is counted by the periods that ask for it.
select 'unplanned', coalesce(sum(u.count), 0)::bigint, min(u.since), null
from (
  select count(*) as count, min(d.slot) as since from due_slot d
  where d.cut is null and d.slot <= (select storerank_now()) and d.ends_at > (select storerank_now())
  union all
  select count(*), min(c.from_slot) from period_change c join watch_period p on p.id = c.period_id
  where c.from_slot <= (select storerank_now()) and p.ended_at is null
  union all
  select count(*), min(p.since)
  from ledger l
  cross join lateral (
    select slot_end(p.every, slot_of(p.every, l.opened_to)) as since from watch_period p
    where p.ended_at is null and p.target_id is not null
      and p.id not in (select c.period_id from period_change c)
  ) p
  where l.opened_to > '-infinity' and l.opened_to < (select storerank_now())
    and p.since <= (select storerank_now())
) u
union all
select 'posting', count(*), min(k.slot), null
from post p
cross join lateral (select k.slot from task k where k.post_id = p.id and k.state = 'posting' offset 0) k
where p.state in ('sending', 'unknown')
union all
select 'posted', count(*), min(k.slot), null from task k where k.attempt > 0 and k.state = 'posted'
union all
select 'overdue', count(*), min(k.posted_at),
  format('%s results are late, and are asked for by their ids: select * from task_problem '
  'where kind = ''overdue''. When there are many, look at service_state.', count(*))
from task k where k.attempt > 0 and k.state = 'posted' and k.overdue_at < (select clock_timestamp())
union all
select 'budget_cut', count(*), min(c.slot),
  format('The budget does not reach %s slots that are due: raise it, or watch less. '
  '`storerank plan` says which budget is used up.', count(*))
from due_slot c where c.cut is not null and c.ends_at > (select storerank_now());
