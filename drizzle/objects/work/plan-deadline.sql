-- What is due is unplanned for half of its interval at most, for two hours where the last plan was of
-- `storerank start`, whose slots are whole minutes, and not at all where nothing was ever planned. Of what is
-- not opened the first slot counts. While a plan is at work it has a quarter of an hour: a new watch may be
-- due since the morning.
--- When the next plan is due at the latest; it is late when that has passed. No row: nothing is watched.
--- .due_by: Half of the interval of what is due first after its slot began, at most two hours where the last
--- plan was made by `storerank start`.
--- .planned_at: When the last plan ended; null when there was none.
create or replace view plan_deadline as
select greatest(min(slot_end(least(u.every / 2, l.patience), u.since)), l.planning_until)
    + (clock_timestamp() - storerank_now()) as due_by, l.planned_at
from (
  select p.ended_at as planned_at, case when p.slot is null then interval '0'
      when p.slot = date_trunc('minute', p.slot) then interval '2 hours'
      else interval '31 days' end as patience,
    (select max(r.started_at) + interval '15 minutes' + (storerank_now() - clock_timestamp())
      from (select state, started_at from job_run where job = 'track' order by slot desc limit 20) r
      where r.state = 'running' and r.started_at > (select clock_timestamp()) - interval '15 minutes'
    ) as planning_until, w.opened_to
  from (select (select opened_to from ledger) as opened_to) w
  left join lateral (
    select r.slot, r.ended_at from job_run r where r.job = 'track' and r.state = 'done'
    order by r.slot desc limit 1
  ) p on true
) l
cross join lateral (
  select d.slot as since, d.ends_at - d.slot as every from due_slot d
  where d.cut is null and d.ends_at > (select storerank_now())
    and (select storerank_now() - clock_ahead()) between d.slot and d.ends_at
  union all
  select greatest(c.from_slot, p.started_at), p.every
  from period_change c join watch_period p on p.id = c.period_id where p.ended_at is null
  union all
  select slot_end(i.every, slot_of(i.every, l.opened_to)), i.every
  from (select distinct p.every from watch_period p where p.ended_at is null and p.target_id is not null) i
  where l.opened_to > '-infinity'
) u
group by l.patience, l.planning_until, l.planned_at;
