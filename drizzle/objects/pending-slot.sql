-- Two sources: the slots from `closed_to` on, and the tasks that are open though their slot is closed. States of a task are asked one by
-- one, because each has an index of its own.
-- An array of slots, which the planner takes for ten: slots_between is a function for each period, and takes fifteen times as long.
-- Slots of the last weeks are looked for where `storerank_now` alone says in which partitions: with all of them it takes four times as
-- long.
--
-- `strict`, so that the function is not inlined and the planner uses `rows`: of generate_series it would expect 1,000 slots a period.
create or replace function slots_between(every interval, first_slot timestamptz, last_slot timestamptz)
returns setof timestamptz language sql immutable strict parallel safe rows 1
begin atomic
  -- Without a time zone, because in one a day may have 23 hours.
  select s at time zone 'UTC' from generate_series(first_slot at time zone 'UTC', last_slot at time zone 'UTC', every) s;
end;
comment on function slots_between(interval, timestamptz, timestamptz) is 'The slots from a first to a last one.';

create or replace view pending_slot as
select p.id as period_id, p.project, p.kind, p.target_id, p.every, s.slot
from watch_period p
cross join lateral (
  select due at time zone 'UTC' as slot
  from unnest(array(
    select generate_series(
      slot_of(p.every, greatest(p.first_slot, p.closed_to)) at time zone 'UTC', least(p.last_slot, (select storerank_now())) at time zone 'UTC', p.every)
  )) due
  union all
  select k.slot from (
    select target_id, slot from task where state = 'planned'
    union all
    select target_id, slot from task where state = 'posted'
    union all
    select k.target_id, k.slot from post o join task k on k.post_id = o.id and k.state = 'posting' where o.state <> 'settled'
  ) k
  where k.target_id = p.target_id and k.slot < slot_of(p.every, greatest(p.first_slot, p.closed_to))
) s
where p.target_id is not null and s.slot <= (select storerank_now())
  and is_shown(p.every, p.first_slot, p.last_slot, p.ended_at, s.slot, 'missed')
  and case
    when p.kind not in ('keyword', 'chart')
      then not exists (select from app_snapshot r where r.target_id = p.target_id and r.slot = s.slot offset 0)
    when s.slot < (select storerank_now()) - interval '35 days'
      then not exists (select from ranking_row r where r.target_id = p.target_id and r.slot = s.slot offset 0)
    else not exists (
      select from ranking_row r
      where r.target_id = p.target_id and r.slot = s.slot and r.slot >= storerank_now() - interval '35 days'
      offset 0
    ) end;
comment on view pending_slot is
  'The slots that a watch period asked for and the history has no row of: the current one, and older ones until they are closed.';
comment on column pending_slot.period_id is 'The watch period: watch_period.id.';
comment on column pending_slot.project is 'The project.';
comment on column pending_slot.kind is 'keyword, chart, app (its page) or reviews.';
comment on column pending_slot.target_id is 'The measured target: what ranking, task and charge call it.';
comment on column pending_slot.every is 'How often it is asked for.';
comment on column pending_slot.slot is 'When the measurement was due.';
grant select on pending_slot to storerank_editor, storerank_reader;
