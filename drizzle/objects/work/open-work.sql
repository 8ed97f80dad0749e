--- What has not ended, by kind, one row for each whether there is any or not: what is due, what is late, and
--- what a person should see to.
--- .kind: planned, posting and posted (tasks, by their state), unplanned (slots that are due and that no plan
--- has looked at yet), overdue (those of them whose result is late), budget_cut (due slots that the budget
--- does not reach), unknown_post (posts whose answer was lost), held_post (posts that are ready and not
--- sent), refused_task (tasks that the service refused for money or the account, and that are tried again),
--- restored (1 while nothing is posted because another database may have bought the same), no_run (1 while a
--- plan is late: plan_deadline), no_room (1 while the database server cannot write), read_only (1 while it is
--- a standby), or clock (1 while its clock differs from the service's).
--- .message: What it means and what to do, as a sentence; null where there is nothing to do.
create or replace view open_work as
select w.kind, w.count, w.since, case when w.count > 0 then w.message end as message
from (
  select kind, count, since, message from backlog
  union all
  select 'unknown_post', count(*), min(p.send_before),
    format('What became of %s posts is not known, or an id that the service told is doubted. Its own list is '
    'searched, for lost answers twice, 20 minutes apart; when it lasts for hours, look whether the job '
    'reconcile fails.', count(*))
  from post p where p.state = 'unknown'
  union all
  select 'held_post', count(*), min(p.created_at), format('%s posts are not sent. %s', count(*), case
    when restore_hold() is not null then restore_hold()
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
  select 'restored', count(hold.reason), (select recover_from from ledger), min(hold.reason)
  from restore_hold() hold (reason)
  union all
  select 'no_run', count(*), min(d.planned_at), format(
    '%s, and what is due waits for it: start `storerank start`, or look why the cron job of `storerank run` '
    'does not run.',
    coalesce('Nothing was planned since ' || utc_minute(min(d.planned_at)), 'Nothing was ever planned'))
  from plan_deadline d where d.due_by < clock_timestamp()
  union all
  select 'no_room', count(r.reason), null,
    format('The database server cannot write: %s. Make room on its disk; nothing is lost, and the work '
    'goes on by itself.', min(r.reason))
  from disk_full_reason() r (reason)
  union all
  select 'read_only', count(*), null,
    'The database takes no changes: it is a standby, as after a failover. Give DATABASE_URL the address of '
    'the primary; nothing is lost, and the work goes on by itself.'
  from (select) s where pg_is_in_recovery()
  union all
  select 'clock', count(*), null,
    format('The clock of the database server is %s minutes %s that of the service, as it answered last. '
    'Set it right, as by NTP. Until then nothing is bought that does not run by both clocks.',
    round(abs(extract(epoch from min(c.ahead))) / 60),
    case when min(c.ahead) > '0' then 'ahead of' else 'behind' end)
  from clock_ahead() c (ahead) where c.ahead <> '0'
) w;
