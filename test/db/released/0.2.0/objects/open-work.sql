-- A look costs the same however much has been done. What is posted is counted by a partial index with the slot in it, and what is late by one
-- with the time of posting, without reading the tasks. Late is what `overdue_at` says: `ask_at` moves with each ask. Planned tasks are read by
-- their posts: an index of their own was a tenth of a plan, where a million are counted in a sixth of a second. Tasks in a post that is being
-- sent, or whose answer was lost, are looked up by the post too, in `lateral … offset 0`: while a table has no statistics, as after its first
-- tasks, a join would read all of them. The clock is a subquery, because a volatile function is no bound of an index scan.
create or replace function is_recovering() returns boolean language sql stable security definer set search_path = public, pg_temp as $$
  select is_lock_held('job recover')
$$;
comment on function is_recovering() is 'Whether `storerank recover` is at work on this database.';
revoke execute on function is_recovering() from public;
grant execute on function is_recovering() to storerank_editor, storerank_reader;

-- What is due and not planned is found as planning finds it, by a row for each interval, and counted by the index of its open periods: these are
-- periods, of which several may share a target, and not slots. It begins with the first slot that no plan has looked at, also when that is
-- over, so that its age grows for as long as nothing is planned. An interval has no row of `interval_progress` before its first plan, after a
-- crash, and after housekeeping: then the last `track` that ended well says up to when it was planned, so that a million periods are not due
-- because an unlogged table is empty; where nothing was ever planned, all are due since the first of them began. A row of `period_due` is
-- counted where its interval is not. Of `due_batch`, which has what a plan has found and not decided, those of targets that were measured since
-- are not counted: after housekeeping that is all of them.
-- A standby has none of the three tables, which are unlogged, and says 0: what is due is the primary's to tell.
create or replace function unplanned_slots() returns table (count bigint, since timestamptz)
language plpgsql stable security definer rows 1 set search_path = public, pg_temp set plan_cache_mode = force_custom_plan as $$
#variable_conflict use_column
declare
  present timestamptz := storerank_now();
begin
  if pg_is_in_recovery() then
    return query select 0::bigint, null::timestamptz;
    return;
  end if;
  return query
  select coalesce(sum(u.count), 0)::bigint, min(u.since)
  from (
    with recursive watched as (
      select min(p.every) as every from watch_period p where p.ended_at is null and p.target_id is not null
      union all
      select (select min(p.every) from watch_period p where p.every > w.every and p.ended_at is null and p.target_id is not null)
      from watched w where w.every is not null
    ), looked_at as materialized (
      select w.every, coalesce(i.period_id, 0) as above_id,
        greatest(oldest.first_slot, slot_end(w.every, coalesce(i.slot, slot_of(w.every, t.started_at)))) as since
      from watched w
      left join interval_progress i on i.work = 'plan' and i.every = w.every
      left join lateral (
        select r.started_at from job_run r where r.job = 'track' and r.state = 'done' order by r.slot desc limit 1
      ) t on true
      -- Compared and sorted as a row, so that no other index is read than that of the intervals.
      cross join lateral (
        select p.every, p.first_slot from watch_period p
        where (p.every, p.id) > (w.every, coalesce(i.period_id, 0)) and p.ended_at is null and p.target_id is not null
        order by p.every, p.id limit 1
      ) oldest
      where oldest.every = w.every
    ), passing as materialized (
      select l.every, l.above_id, l.since from looked_at l where l.since <= present
    ), share as materialized (
      select (select count(*) from passing) as passing, (select count(w.every) from watched w) as intervals
    )
    select n.count, case when n.count > 0 then l.since end as since
    from passing l
    cross join lateral (
      select count(*) as count from watch_period p
      where p.every = l.every and p.ended_at is null and p.target_id is not null and p.id > l.above_id
    ) n
    union all
    select count(*), min(d.at) from period_due d
    where d.work = 'plan' and d.at <= present and (select s.passing < s.intervals from share s)
      and ((select s.passing = 0 from share s) or not exists (
        select from (
          select p.every, p.id from watch_period p where p.id = d.period_id and p.ended_at is null and p.target_id is not null offset 0
        ) p
        join passing l on l.every = p.every and p.id > l.above_id))
    union all
    select count(*), min(q.slot) from (select slot, unnest(captured_ats) as captured_at from due_batch) q where q.captured_at < q.slot
  ) u;
end $$;
comment on function unplanned_slots() is
  'How many watch periods have a slot that is due and that no plan has looked at yet, and the first such slot. A standby says 0.';
revoke execute on function unplanned_slots() from public;
grant execute on function unplanned_slots() to storerank_editor, storerank_reader;

create or replace view open_work as
select w.kind, w.count, w.since, case when w.count > 0 then w.message end as message
from (
  select 'planned' as kind, count(*) as count, min(k.slot) as since, null::text as message from reserving_task k where k.state = 'planned'
  union all
  select 'unplanned', u.count, u.since, null from unplanned_slots() u
  union all
  select 'posting', count(*), min(k.slot), null
  from post p
  cross join lateral (select k.slot from task k where k.post_id = p.id and k.state = (select 'posting') offset 0) k
  where p.state in ('sending', 'unknown')
  union all
  select 'posted', count(*), min(k.slot), null from task k where k.state = 'posted'
  union all
  select 'overdue', count(*), min(k.posted_at), format('%s results are late, and are asked for by their ids: select * from task_problem '
    'where kind = ''overdue''. When there are many, look at service_state.', count(*))
  from task k where k.state = 'posted' and k.overdue_at < (select clock_timestamp())
  union all
  select 'budget_cut', count(*), min(c.slot), format('The budget does not reach %s slots that are due: raise it, or watch less. '
    '`storerank plan` says which budget is used up.', count(*))
  from budget_cut c where c.slot_ends_at > storerank_now()
  union all
  select 'unknown_post', count(*), min(p.send_before), format('The answer to %s posts was lost. They are looked for, twice, 20 minutes '
    'apart; when it lasts for hours, look whether the job reconcile fails.', count(*))
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
    select k.slot, k.problem from task k where k.state = 'planned' and k.status_code is null and k.problem is not null
    union all
    select k.slot, k.problem from post p
    cross join lateral (
      select k.slot, k.problem from task k
      where k.post_id = p.id and k.state = (select 'posting') and k.status_code is null and k.problem is not null offset 0
    ) k
    where p.state in ('sending', 'unknown')
  ) r
  union all
  select 'restored', count(*), min(l.recover_from), case when count(*) > 0 and is_recovering()
    then 'The service lists tasks of this database that it does not know, so nothing is posted. `storerank recover` is at work: when it has '
      'ended, posting goes on by itself.'
    else 'The service lists tasks of this database that it does not know, so nothing is posted: run `storerank recover`.' end
  from ledger l where l.recover_from is not null
  union all
  select 'no_run', count(*), min(t.last_success_at), 'No slots were planned since then, and some have passed: start `storerank start`, or look why '
    'the cron job of `storerank run` does not run.'
  from (select min(w.every) as shortest from watch_period w where w.ended_at is null and w.target_id is not null) p
  left join lateral (
    select r.ended_at as last_success_at from job_run r where r.job = 'track' and r.state = 'done' order by r.slot desc limit 1
  ) t on true
  where p.shortest is not null and (t.last_success_at > clock_timestamp() - p.shortest - interval '1 hour') is not true
  union all
  select 'no_room', count(r.reason), null, format('The database server cannot write: %s. Make room on its disk; nothing is lost, and the work '
    'goes on by itself.', min(r.reason))
  from lack_of_room() r (reason)
) w;
comment on view open_work is
  'What has not ended, by kind, one row for each whether there is any or not: what is due, what is late, and what a person should see to.';
comment on column open_work.kind is 'planned, posting and posted (tasks, by their state), unplanned (watch periods whose slot is due and that no plan has looked at yet), overdue (those of them whose result is late), budget_cut (due slots that the budget does not reach), unknown_post (posts whose answer was lost), held_post (posts that are ready and not sent), refused_task (tasks that the service refused for money or the account, and that are tried again), restored (1 while nothing is posted because the database is older than what was bought), no_run (1 while nothing was planned for longer than the shortest watch lasts), or no_room (1 while the database server cannot write).';
comment on column open_work.count is 'How many there are.';
comment on column open_work.since is 'Of tasks, unplanned and budget_cut the oldest slot; of overdue when the longest awaited was posted; of the others since when.';
comment on column open_work.message is 'What it means and what to do, as a sentence; null where there is nothing to do.';
grant select on open_work to storerank_editor, storerank_reader;
