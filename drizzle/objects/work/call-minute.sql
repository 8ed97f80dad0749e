-- By the numbers of the calls, of which an hour has at most 60 times 2,000: `permit_at` has no index, because
-- each call would pay for it.
--- The calls of the service in the past hour, over all runners, by minute and kind.
--- .kind: What was called, such as task_post, task_get or tasks_ready.
--- .failed: Those of them that brought no answer, or a refusal by its HTTP status.
create or replace view call_minute as
select date_trunc('minute', c.permit_at, 'UTC') as minute, c.kind, count(*) as calls,
  count(*) filter (where c.error is not null or c.http_status >= 400) as failed
from (select * from api_call l order by l.id desc limit 120000) c
where c.permit_at > clock_timestamp() - interval '1 hour'
group by 1, 2;
