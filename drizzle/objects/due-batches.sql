create or replace function due_batches(
  of_priority_order smallint, of_slot timestamptz, of_captured_ats timestamptz[], of_target_ids integer[]
) returns table (
  priority_order smallint, captured_at timestamptz, slot timestamptz, target_id integer, captured_ats timestamptz[], target_ids integer[]
) language sql stable as $$
  select of_priority_order, of_captured_ats[n], of_slot, of_target_ids[n], of_captured_ats[n:n + 99], of_target_ids[n:n + 99]
  from generate_series(1, cardinality(of_target_ids), 100) n
$$;
comment on function due_batches(smallint, timestamptz, timestamptz[], integer[]) is
  'Due slots of one priority and instant, given in the order of urgency, as rows of `due_batch`: a hundred in each.';
revoke execute on function due_batches(smallint, timestamptz, timestamptz[], integer[]) from public;

-- Nothing here is decided: a slot of which a task was bought, or that nobody asks for any more, is passed over by the plan that takes it.
create or replace function slots_due_again(of_target_ids integer[], of_slots timestamptz[], of_priority_orders smallint[]) returns table (
  priority_order smallint, captured_at timestamptz, slot timestamptz, target_id integer, captured_ats timestamptz[], target_ids integer[]
) language sql stable as $$
  select d.*
  from (
    select q.priority_order, q.slot, array_agg(q.captured_at order by q.captured_at, q.target_id) as captured_ats,
      array_agg(q.target_id order by q.captured_at, q.target_id) as target_ids
    from (
      select u.target_id, u.slot, coalesce((
          select -max(p.priority) from watch_period p
          where p.target_id = u.target_id and p.ended_at is null and slot_of(p.every, u.slot) = u.slot
        ), min(u.priority_order))::smallint as priority_order,
        coalesce((select t.captured_at from target t where t.id = u.target_id), '-infinity') as captured_at
      from unnest(of_target_ids, of_slots, of_priority_orders) u (target_id, slot, priority_order)
      group by u.target_id, u.slot
    ) q
    group by q.priority_order, q.slot
  ) n cross join lateral due_batches(n.priority_order, n.slot, n.captured_ats, n.target_ids) d
$$;
comment on function slots_due_again(integer[], timestamptz[], smallint[]) is
  'Slots as rows of `due_batch`, once each, at their places of now in the order of urgency; where nobody asks for one any more, at the priority given.';
revoke execute on function slots_due_again(integer[], timestamptz[], smallint[]) from public;
