-- Housekeeping keeps a task at least as long as the differences that the audit found of it, so the join finds
-- it.
--- Where the service's own list of tasks and our charges did not say the same, one row per task, for 90 days;
--- of other programs one row per path and day.
--- .at: When the audit found it.
--- .kind: missing (we were charged, the service does not list it), unknown (listed, and no charge of ours) or
--- cost (another one; adjusted).
--- .posted_at: When the service says that it was posted; of a missing task, when we say so.
--- .service_id: The id of the task at the service; of several, that of the first.
--- .tag: The tag at the service, where it lists the task; of several, that of the first.
--- .adjusted_usd: By how much our books were adjusted; null unless kind is cost.
create or replace view audit_problem as
select d.found_at as at, d.kind, d.posted_at, d.path, {{target g}}, k.slot, k.id as task_id, d.service_id,
  d.tag, d.tasks, d.service_micros * 0.000001 as service_usd, d.our_micros * 0.000001 as our_usd,
  case d.kind when 'cost' then (d.service_micros - d.our_micros) * 0.000001 end as adjusted_usd,
  case
    when d.kind = 'cost' then format(
      'The service took %s for this task, and our books said %s. They were adjusted by %s, so that they say '
      'the same.', dollars(d.service_micros), dollars(d.our_micros),
      dollars(d.service_micros - d.our_micros))
    when d.kind = 'missing' then format(
      'We paid %s for this task, and the service does not list it. Our charge stays; ask the service what '
      'became of the task.', dollars(d.our_micros))
    else format(
      'The service took %s for %s that this database knows nothing of, posted on %s; the first is %s. %s',
      dollars(d.service_micros), case d.tasks when 1 then '1 task' else d.tasks || ' tasks' end,
      to_char(d.posted_at at time zone 'UTC', 'YYYY-MM-DD'), d.service_id,
      case when d.task_id is null
        then 'The tag is not ours: another program uses the account. If you know of none, change '
          'its password.'
        else
          'The tag is that of a storerank: another one uses the account, or this database was restored '
          'from a copy that '
          'is older than the task. When `storerank status` says that nothing is posted, it was: run '
          '`storerank recover`.' end)
  end as message
from audit_difference d
left join task k on k.id = d.task_id
left join target g on g.id = k.target_id;
