-- The names of the jobs by one look-up each in the key of `job_run`, and not by reading the runs of three
-- months.
--- The jobs that ran in the past 90 days, or were to.
create or replace view known_job as
with recursive job as (
  select min(r.job) as name from job_run r
  union all
  select (select min(r.job) from job_run r where r.job > j.name) from job j where j.name is not null
)
select j.name as job from job j where j.name is not null;
