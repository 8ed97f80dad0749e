-- `service_failure` is shown of tasks that are still `posted`: the other rows say how a task ended. What is
-- told is found by partial indexes of tasks and charges: those of which there is nothing to tell are many
-- more.
--- What went wrong with tasks: failed, unreadable, of unknown outcome, paid twice, charged otherwise than
--- stated, overdue, listed as failed by the service, or stored without all that was asked for.
--- .kind: failed, rejected, unknown, duplicate, price, overdue, service_failure or incomplete.
create or replace view task_problem as
select t.ended_at as at, 'failed' as kind, {{target g}}, t.slot, t.id as task_id, t.service_id,
  t.status_code, coalesce(t.problem, 'The task failed.') as message
from task t join target g on g.id = t.target_id
where t.state = 'failed' and not exists (select from rejected_result r where r.task_id = t.id)
union all
select r.received_at, 'rejected', {{target g}}, r.slot, r.task_id, r.service_id, null,
  format('The result was refused at %s: %s. Its body is kept in rejected_result.', r.path,
    rtrim(r.problem, '.'))
from rejected_result r join target g on g.id = r.target_id
union all
select p.send_before, 'unknown', p.store, p.function, null, null, null, null, null, null, null,
  case when count(t.id) = 0
    then coalesce(p.problem, 'It is settled.') || ' The service''s own list is searched for the '
      'ids of its tasks.'
  else format('Whether the service took %s tasks is unknown since %s: %s. Their money stays '
    'reserved until %s.',
    count(t.id), utc_second(p.send_before), coalesce(rtrim(p.problem, '.'), 'no answer came'),
    case when p.scanned_at is null then 'the service''s own list has been searched for them twice'
      else format('the service''s own list is searched for them a second time; the first search began %s',
        utc_second(p.scanned_at)) end) end
from post p left join task t on t.post_id = p.id and t.state = 'posting'
where p.state = 'unknown'
group by p.id
union all
select * from charge_problem
union all
select coalesce(t.overdue_at, t.posted_at), 'overdue', {{target g}}, t.slot, t.id, t.service_id,
  t.status_code, format('It was posted at %s, and %s. It stays open and is asked for by its id.',
    utc_second(t.posted_at),
    coalesce('the last answer was: ' || rtrim(t.problem, '.'), 'no ready list has named it'))
from task t join target g on g.id = t.target_id
where t.id = any(array(
  select k.id from task k where k.attempt > 0 and k.state = 'posted' and k.overdue_at < now()
  union all
  select k.id from task k where k.attempt > 0 and k.state = 'posted' and k.problem is not null))
union all
select f.at, 'service_failure', {{target g}}, t.slot, t.id, f.service_id, f.error_code,
  case when f.function in ('pingback_url', 'postback_url')
    then format('The service could not deliver its webhook (%s%s%s). %s',
      f.function, ', HTTP ' || nullif(f.http_code, 0), ': ' || rtrim(f.error_message, '.'),
      case when f.resent_at is null then 'The ready list names the task instead, and its result is fetched.'
        else format('It was asked at %s to send it again.', utc_second(f.resent_at)) end)
    else format('The service lists it as failed at %s%s. It stays open until its result says so.', f.function,
      ': ' || rtrim(f.error_message, '.')) end
from service_failure f
join task t on t.service_id = f.service_id join target g on g.id = t.target_id
where t.state = 'posted'
union all
select t.ended_at, 'incomplete', {{target g}}, t.slot, t.id, t.service_id, t.status_code, t.problem
from task t join target g on g.id = t.target_id
where t.state = 'collected' and t.problem is not null;
