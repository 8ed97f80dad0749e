-- A look costs the same however much has been done. What is posted is counted by a partial index with the
-- slot in it, and what is late by one with the time of posting, without reading the tasks. Late is what
-- `overdue_at` says: `ask_at` moves with each ask. Tasks in a post that is being sent, or whose answer was
-- lost, are looked up by the post too, in `lateral … offset 0`: while a table has no statistics, as after its
-- first tasks, a join would read all of them. The clock is a subquery, because a volatile function is no
-- bound of an index scan.
create or replace function is_recovering() returns boolean language sql stable security definer
  set search_path = public, pg_temp as $$
  select is_lock_held('job recover')
$$;
comment on function is_recovering() is 'Whether `storerank recover` is at work on this database.';

create or replace view open_work as
select w.kind, w.count, w.since, case when w.count > 0 then w.message end as message
from (
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
  cross join lateral (select k.slot from task k where k.post_id = p.id
    and k.state = 'posting' offset 0) k
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
  from due_slot c where c.cut is not null and c.ends_at > (select storerank_now())
  union all
  select 'unknown_post', count(*), min(p.send_before),
    format('What became of %s posts is not known, or an id that the service told is doubted. Its own list is '
    'searched, for lost answers twice, 20 minutes apart; when it lasts for hours, look whether the job reconcile fails.', count(*))
  from post p where p.state = 'unknown'
  union all
  select 'held_post', count(*), min(p.created_at), format('%s posts are not sent. %s', count(*), case
    when exists (select from ledger where recover_from is not null) and is_recovering()
      then '`storerank recover` is at work; they are sent when it has ended.'
    else (array_agg(p.problem order by p.created_at))[1] end)
  from post p where p.state = 'ready' and p.problem is not null
  union all
  select 'refused_task', count(*), min(r.slot), format('%s tasks are not taken. %s', count(*), min(r.problem))
  from (
    select k.slot, k.problem from task k where k.attempt > 0 and k.state = 'planned' and k.status_code is null
      and k.problem is not null
    union all
    select k.slot, k.problem from post p
    cross join lateral (
      select k.slot, k.problem from task k
      where k.post_id = p.id and k.state = 'posting' and k.status_code is null
        and k.problem is not null offset 0
    ) k
    where p.state in ('sending', 'unknown')
  ) r
  union all
  select 'restored', count(*), min(l.recover_from), case when count(*) > 0 and is_recovering()
    then
      'The service lists tasks of this database that it does not know, so nothing is posted. `storerank '
      'recover` is at work: when it has '
      'ended, posting goes on by itself.'
    else
      'The service lists tasks of this database that it does not know, so nothing is posted: run '
      '`storerank recover`.' end
  from ledger l where l.recover_from is not null
  union all
  select 'no_run', count(*), min(t.last_success_at),
    'No slots were planned since then, and some have passed: start `storerank start`, or look why '
    'the cron job of `storerank run` does not run.'
  from (select min(w.every) as shortest from watch_period w where w.ended_at is null
    and w.target_id is not null) p
  left join lateral (
    select r.ended_at as last_success_at from job_run r where r.job = 'track' and r.state = 'done'
      order by r.slot desc limit 1
  ) t on true
  where p.shortest is not null and (t.last_success_at > clock_timestamp() - p.shortest
    - interval '1 hour') is not true
  union all
  select 'no_room', count(r.reason), null,
    format('The database server cannot write: %s. Make room on its disk; nothing is lost, and the work '
    'goes on by itself.', min(r.reason))
  from lack_of_room() r (reason)
) w;
comment on view open_work is
  'What has not ended, by kind, one row for each whether there is any or not: what is due, what is '
  'late, and what a person should see to.';
comment on column open_work.kind is
  'planned, posting and posted (tasks, by their state), unplanned (slots that are due and that no plan '
  'has looked at yet), overdue (those of them whose result is late), budget_cut (due slots that the '
  'budget does not reach), unknown_post (posts whose answer was lost), held_post (posts that are ready '
  'and not sent), refused_task (tasks that the service refused for money or the account, and that are '
  'tried again), restored (1 while nothing is posted because the database is older than what was bought),'
  ' no_run (1 while nothing was planned for longer than the shortest watch lasts), or no_room (1 while '
  'the database server cannot write).';
comment on column open_work.since is
  'Of tasks, unplanned and budget_cut the oldest slot; of overdue when the longest awaited was posted; of'
  ' the others since when.';
comment on column open_work.message is
  'What it means and what to do, as a sentence; null where there is nothing to do.';
