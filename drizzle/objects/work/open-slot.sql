-- A slot is due, or its task is open, or it began since slots were opened last (`openDueSlots`).
--- The slots that a watch period asked for and that are not closed, or whose task is open: the current one,
--- and older ones. Those that are measured already, or a gap, are among them.
create or replace view open_slot as
select p.id as period_id, p.project, p.kind, p.target_id, p.every, s.slot
from watch_period p
cross join lateral unnest(array(
  select d.slot from due_slot d where d.target_id = p.target_id
  union
  select k.slot from task k
  where k.target_id = p.target_id and k.attempt > 0 and k.state in ('planned', 'posting', 'posted')
    and case when k.state = 'posting'
      then exists (select from post o where o.id = k.post_id and o.state <> 'settled') else true end
  union
  select due at time zone 'UTC'
  from generate_series(
    greatest(p.first_slot, slot_of(p.every, (select least(opened_to, storerank_now())
      from ledger))) at time zone 'UTC',
    least(p.last_slot, (select storerank_now())) at time zone 'UTC', p.every) as due
)) s (slot)
where p.target_id is not null and s.slot <= (select storerank_now())
  and is_shown(p.every, p.first_slot, p.last_slot, p.ended_at, s.slot, 'missed');
