-- The past day by `(select clock_timestamp() …)`: a volatile function in a comparison is no condition of an
-- index.
--- How each job fares: its last run, its last success, and the runs of the past 24 hours by how they ended.
--- .state: Of its last run that has ended: done or failed; null when none has.
--- .at: When that run ended.
--- .failed: Those that failed.
create or replace view job_outcome as
select j.job, last.state, last.at, last.error, success.at as last_success_at, day.done, day.failed,
  day.missed, owed.since as owed_since
from known_job j
left join lateral (
  select r.state, coalesce(r.ended_at, r.started_at, r.slot) as at, r.error from job_run r
  where r.job = j.job and r.state in ('done', 'failed') order by r.slot desc limit 1
) last on true
left join lateral (
  select r.ended_at as at, r.slot from job_run r where r.job = j.job and r.state = 'done' order by r.slot desc
    limit 1
) success on true
cross join lateral (
  select min(r.slot) as since from job_run r
  where r.job = j.job and r.state <> 'done' and r.slot > coalesce(success.slot, '-infinity')
) owed
cross join lateral (
  select count(*) filter (where r.state = 'done') as done, count(*)
    filter (where r.state = 'failed') as failed, count(*) filter (where r.state = 'missed') as missed
  from job_run r where r.job = j.job and r.slot > (select clock_timestamp() - interval '24 hours')
) day;
