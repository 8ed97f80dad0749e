-- Which periods planning and closing have to look at. All periods of an interval begin their slots at the same instants, so that
-- `interval_progress` says with one row an interval that nothing is new. Periods that are new, ended, or wait for something are rows
-- of `period_due`. A plan that finds nothing reads some forty rows, however many watches there are.

-- `interval_progress` is empty before the first call and after a crash. Then all open periods are looked at by their intervals, and each
-- ended period that is not closed yet gets a row of `period_due`.
create or replace function begin_progress(of_work text) returns void language plpgsql as $$
begin
  insert into interval_progress (work, every) values (of_work, '0') on conflict do nothing;
  if found and of_work = 'close' then
    insert into period_due (work, period_id, at)
    select 'close', p.id, storerank_now() from watch_period p
    where p.target_id is not null and p.ended_at is not null and p.closed_to < p.ended_at;
  end if;
end $$;
comment on function begin_progress(text) is 'Has all periods looked at for a kind of work, unless that was begun already.';
revoke execute on function begin_progress(text) from public;

-- The periods that it returns count as looked at once the transaction of the caller commits. A period that another transaction begins
-- meanwhile has a row of `period_due` of its own.
create or replace function take_due_periods(of_work text, at_most integer) returns bigint[] language plpgsql as $$
declare
  present timestamptz := storerank_now();
  interval_of interval := '0';
  progress record;
  taken bigint[];
begin
  perform begin_progress(of_work);
  with due as (
    delete from period_due where ctid = any(array(
      select ctid from period_due where work = of_work and at <= present order by at limit at_most for update skip locked))
    returning period_id
  )
  select array_agg(distinct period_id) into taken from due;
  if taken is not null then
    return taken;
  end if;
  loop
    select min(p.every) into interval_of from watch_period p
    where p.every > interval_of and p.ended_at is null and p.target_id is not null;
    exit when interval_of is null;
    loop
      -- In the loop, because housekeeping deletes the rows, at any moment until this one is locked.
      insert into interval_progress (work, every) values (of_work, interval_of) on conflict do nothing;
      select slot, coalesce(passing, slot_of(interval_of, present)) as passing, period_id into progress
      from interval_progress where work = of_work and every = interval_of for update;
      continue when not found;
      exit when progress.slot >= slot_of(interval_of, present);
      taken := array(
        select p.id from watch_period p
        where p.every = interval_of and p.ended_at is null and p.target_id is not null and p.id > progress.period_id
        order by p.id limit at_most);
      if cardinality(taken) < at_most then
        update interval_progress set slot = progress.passing, passing = null, period_id = 0
        where work = of_work and every = interval_of;
      else
        update interval_progress set passing = progress.passing, period_id = taken[at_most]
        where work = of_work and every = interval_of;
      end if;
      if cardinality(taken) > 0 then
        return taken;
      end if;
    end loop;
  end loop;
  return '{}';
end $$;
comment on function take_due_periods(text, integer) is
  'The ids of the next periods that a kind of work (plan or close) has to look at, and notes that it did. None: nothing is left.';
revoke execute on function take_due_periods(text, integer) from public;

-- Statements of their own, because a period may have begun since the first: one statement would take its row and not see it. The slots of
-- many periods are sorted in memory: in the order of urgency they are appended to the index of `due_slot`.
create or replace function queue_due_slots(at_most integer) returns bigint language plpgsql
set work_mem = '64MB' set enable_nestloop = off as $$
declare
  present timestamptz := storerank_now();
  taken bigint[] := take_due_periods('plan', at_most);
begin
  with begun as materialized (
    select p.target_id, slot_of(p.every, present) as slot, -max(p.priority) as priority_order
    from watch_period p
    where p.id = any(taken) and p.ended_at is null and p.target_id is not null and slot_of(p.every, present) >= p.first_slot
    group by 1, 2
  )
  insert into due_slot (target_id, slot, priority_order, captured_at)
  select b.target_id, b.slot, b.priority_order, coalesce(t.captured_at, '-infinity') as captured_at
  from begun b join target t on t.id = b.target_id
  where t.id = any(array(select target_id from begun))
    and not exists (
      select from due_slot q where q.target_id = b.target_id and q.slot = b.slot and q.priority_order <= b.priority_order)
  order by 3, 4, 2, 1;
  return cardinality(taken);
end $$;
comment on function queue_due_slots(integer) is
  'Queues the due slots of the next periods that planning has to look at, and returns how many periods it looked at.';
revoke execute on function queue_due_slots(integer) from public;

-- A table that grew since its statistics looks small to the planner, which would then read and sort all of it for each queue.
create or replace function waiting_heads() returns table (
  scope integer, priority_order smallint, captured_at timestamptz, slot timestamptz, target_id integer
) language sql stable rows 50 set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off as $$
  select s.scope, w.priority_order, w.captured_at, w.slot, w.target_id
  from (select 0 as scope union all select id from project) s
  cross join lateral (
    select priority_order, captured_at, slot, target_id from waiting_slot
    where scope = s.scope and too_dear_micros = 0
    order by too_dear_micros, priority_order, captured_at, slot, target_id limit 1
  ) w
$$;
comment on function waiting_heads() is
  'The most urgent of the slots that wait for the budget of each project (scope: project.id), and of all together (scope 0).';
revoke execute on function waiting_heads() from public;

-- `at_most` in all, and `slots[i]` from the head of the queue of `scopes[i]` (null: all of it), besides what was dearer than its whole budget and
-- is not any more.
create or replace function wake_waiting(scopes integer[], slots bigint[], wholes bigint[], at_most integer) returns bigint
language plpgsql set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set enable_hashjoin = off as $$
declare
  woken bigint;
begin
  with gone as (
    delete from waiting_slot where ctid = any(array(
      select w.row_id
      from unnest(scopes, slots, wholes) r (scope, slots, whole_micros)
      cross join lateral (
        (select ctid as row_id from waiting_slot
          where scope = r.scope and too_dear_micros = 0
          order by scope, too_dear_micros, priority_order, captured_at, slot, target_id limit r.slots)
        union all
        select ctid from waiting_slot
        where scope = r.scope and too_dear_micros > 0 and too_dear_micros <= coalesce(r.whole_micros, 9223372036854775807)
      ) w limit at_most))
    returning target_id, slot, priority_order
  )
  insert into due_slot (target_id, slot, priority_order, captured_at)
  select g.target_id, g.slot, coalesce((
      select -max(p.priority) from watch_period p
      where p.target_id = g.target_id and p.ended_at is null and slot_of(p.every, g.slot) = g.slot
    ), g.priority_order),
    coalesce((select t.captured_at from target t where t.id = g.target_id), '-infinity')
  from (select target_id, slot, min(priority_order) as priority_order from gone group by 1, 2) g;
  get diagnostics woken = row_count;
  return woken;
end $$;
comment on function wake_waiting(integer[], bigint[], bigint[], integer) is
  'Makes slots that wait for money due again, at their places of now, and returns how many.';
revoke execute on function wake_waiting(integer[], bigint[], bigint[], integer) from public;
