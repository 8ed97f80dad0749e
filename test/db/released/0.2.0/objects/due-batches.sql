create or replace function due_batches(
  of_priority_order smallint, of_slot timestamptz, of_captured_ats timestamptz[], of_target_ids integer[], of_askers integer[]
) returns table (
  priority_order smallint, captured_at timestamptz, slot timestamptz, target_id integer,
  captured_ats timestamptz[], target_ids integer[], askers integer[]
) language sql stable as $$
  select of_priority_order, of_captured_ats[n], of_slot, of_target_ids[n],
    of_captured_ats[n:n + 99], of_target_ids[n:n + 99], of_askers[n:n + 99]
  from generate_series(1, cardinality(of_target_ids), 100) n
$$;
comment on function due_batches(smallint, timestamptz, timestamptz[], integer[], integer[]) is
  'Due slots of one priority and instant, given in the order of urgency, as rows of `due_batch`: a hundred in each.';
revoke execute on function due_batches(smallint, timestamptz, timestamptz[], integer[], integer[]) from public;

-- Nothing here is decided: a slot of which a task was bought, or that nobody asks for any more, is passed over by the plan that takes it.
create or replace function slots_due_again(of_target_ids integer[], of_slots timestamptz[], of_priority_orders smallint[]) returns table (
  priority_order smallint, captured_at timestamptz, slot timestamptz, target_id integer,
  captured_ats timestamptz[], target_ids integer[], askers integer[]
) language sql stable as $$
  select d.*
  from (
    select q.priority_order, q.slot, array_agg(q.captured_at order by q.captured_at, q.target_id) as captured_ats,
      array_agg(q.target_id order by q.captured_at, q.target_id) as target_ids,
      array_agg(q.askers order by q.captured_at, q.target_id) as askers
    from (
      select u.target_id, u.slot, coalesce(a.priority_order, u.priority_order)::smallint as priority_order, a.askers,
        coalesce((select t.captured_at from target t where t.id = u.target_id), '-infinity') as captured_at
      from (
        select target_id, slot, min(priority_order) as priority_order
        from unnest(of_target_ids, of_slots, of_priority_orders) u (target_id, slot, priority_order)
        group by 1, 2
      ) u
      cross join lateral (
        select -max(p.priority) as priority_order, count(*)::integer as askers from watch_period p
        where p.target_id = u.target_id and p.ended_at is null and slot_of(p.every, u.slot) = u.slot
      ) a
    ) q
    group by q.priority_order, q.slot
  ) n cross join lateral due_batches(n.priority_order, n.slot, n.captured_ats, n.target_ids, n.askers) d
$$;
comment on function slots_due_again(integer[], timestamptz[], smallint[]) is
  'Slots as rows of `due_batch`, once each, at their places of now in the order of urgency; where nobody asks for one any more, at the priority given.';
revoke execute on function slots_due_again(integer[], timestamptz[], smallint[]) from public;

-- Rows that another plan is taking are left to it.
create or replace function requeue_due_slots(
  at_most integer, after_priority_order smallint, after_captured_at timestamptz, after_slot timestamptz, after_target_id integer
) returns table (priority_order smallint, captured_at timestamptz, slot timestamptz, target_id integer)
language plpgsql set enable_seqscan = off set enable_sort = off as $$
begin
  return query with next as materialized (
    select b.ctid as row_id, b.priority_order, b.captured_at, b.slot, b.target_id, b.target_ids from due_batch b
    where (b.priority_order, b.captured_at, b.slot, b.target_id) > (after_priority_order, after_captured_at, after_slot, after_target_id)
    order by 2, 3, 4, 5 limit at_most for update skip locked
  ),
  deleted as (delete from due_batch where ctid = any(array(select row_id from next))),
  queued as (
    insert into due_batch (priority_order, captured_at, slot, target_id, captured_ats, target_ids, askers)
    select d.*
    from (
      select array_agg(e.target_id) as target_ids, array_agg(e.slot) as slots, array_agg(e.priority_order) as priority_orders
      from (select unnest(n.target_ids) as target_id, n.slot, n.priority_order from next n) e
    ) n cross join lateral slots_due_again(n.target_ids, n.slots, n.priority_orders) d
  )
  select n.priority_order, n.captured_at, n.slot, n.target_id from next n order by 1 desc, 2 desc, 3 desc, 4 desc limit 1;
end $$;
comment on function requeue_due_slots(integer, smallint, timestamptz, timestamptz, integer) is
  'Gives the slots of at most so many rows of `due_batch`, the next behind a place in the order of urgency, their places of now, and returns the place of the last of these rows.';
revoke execute on function requeue_due_slots(integer, smallint, timestamptz, timestamptz, integer) from public;
