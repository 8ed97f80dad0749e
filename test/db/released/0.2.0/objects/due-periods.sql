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

create or replace function take_noted_periods(of_work text, at_most integer) returns bigint[] language sql as $$
  with due as (
    delete from period_due where ctid = any(array(
      select ctid from period_due where work = of_work and at <= storerank_now() order by at limit at_most for update skip locked))
    returning period_id
  )
  select array_agg(distinct period_id) from due
$$;
comment on function take_noted_periods(text, integer) is
  'The ids of the next periods that a kind of work (plan or close) has to look at for themselves. Null: nothing is left.';
revoke execute on function take_noted_periods(text, integer) from public;

-- A range, because the ids of a million periods in an array cost a plan a tenth of its work.
create or replace function take_passing_periods(
  of_work text, at_most integer, present timestamptz, out every interval, out above_id bigint, out last_id bigint, out periods bigint
) language plpgsql as $$
declare
  progress record;
begin
  every := '0';
  loop
    select min(p.every) into take_passing_periods.every from watch_period p
    where p.every > take_passing_periods.every and p.ended_at is null and p.target_id is not null;
    exit when every is null;
    loop
      -- In the loop, because housekeeping deletes the rows, at any moment until this one is locked.
      insert into interval_progress (work, every) values (of_work, take_passing_periods.every) on conflict do nothing;
      select i.slot, coalesce(i.passing, slot_of(i.every, present)) as passing, i.period_id into progress
      from interval_progress i where i.work = of_work and i.every = take_passing_periods.every for update;
      continue when not found;
      exit when progress.slot >= slot_of(every, present);
      above_id := progress.period_id;
      select count(*), max(p.id) into periods, last_id
      from (
        select p.id from watch_period p
        where p.every = take_passing_periods.every and p.ended_at is null and p.target_id is not null and p.id > above_id
        order by p.id limit at_most
      ) p;
      if periods < at_most then
        update interval_progress i set slot = progress.passing, passing = null, period_id = 0
        where i.work = of_work and i.every = take_passing_periods.every;
      else
        update interval_progress i set passing = progress.passing, period_id = last_id
        where i.work = of_work and i.every = take_passing_periods.every;
      end if;
      if periods > 0 then
        return;
      end if;
    end loop;
  end loop;
end $$;
comment on function take_passing_periods(text, integer, timestamptz) is
  'The next open periods of an interval in whose slot of an instant a kind of work has not looked at them: all above an id, up to another. Null: nothing is left.';
revoke execute on function take_passing_periods(text, integer, timestamptz) from public;

-- The periods that it returns count as looked at once the transaction of the caller commits. A period that another transaction begins
-- meanwhile has a row of `period_due` of its own.
create or replace function take_due_periods(of_work text, at_most integer) returns bigint[] language plpgsql as $$
declare
  noted bigint[];
  passing record;
begin
  perform begin_progress(of_work);
  noted := take_noted_periods(of_work, at_most);
  if noted is not null then
    return noted;
  end if;
  select * into passing from take_passing_periods(of_work, at_most, storerank_now());
  return array(
    select p.id from watch_period p
    where p.every = passing.every and p.ended_at is null and p.target_id is not null and p.id > passing.above_id and p.id <= passing.last_id
    order by p.id);
end $$;
comment on function take_due_periods(text, integer) is
  'The ids of the next periods that a kind of work (plan or close) has to look at, and notes that it did. None: nothing is left.';
revoke execute on function take_due_periods(text, integer) from public;

-- The slots of many periods are grouped by a sort: they have to be sorted by target for the join, and to hash them first took a fifth longer.
-- The periods are those of `noted`, or those of an interval between two ids.
create or replace function insert_due_slots(
  present timestamptz, noted bigint[], of_every interval, above_id bigint, last_id bigint,
  behind_priority_order smallint, behind_captured_at timestamptz, behind_slot timestamptz, behind_target_id integer
) returns void language plpgsql
set work_mem = '64MB' set enable_nestloop = off set enable_hashjoin = off set enable_hashagg = off set plan_cache_mode = force_custom_plan as $$
declare
  passing_slot timestamptz := slot_of(of_every, present);
begin
  with begun as materialized (
    select p.target_id, p.slot, (-max(p.priority))::smallint as priority_order, count(*)::integer as askers
    from (
      select target_id, slot_of(every, present) as slot, priority, first_slot from watch_period
      where noted is not null and id = any(noted) and ended_at is null and target_id is not null
      union all
      select target_id, passing_slot, priority, first_slot from watch_period
      where of_every is not null and every = of_every and id > above_id and id <= last_id and ended_at is null and target_id is not null
    ) p
    where p.slot >= p.first_slot
    group by 1, 2
  )
  insert into due_batch (priority_order, captured_at, slot, target_id, captured_ats, target_ids, askers)
  select d.*
  from (
    select b.priority_order, b.slot, array_agg(t.captured_at order by t.captured_at, b.target_id) as captured_ats,
      array_agg(b.target_id order by t.captured_at, b.target_id) as target_ids,
      array_agg(b.askers order by t.captured_at, b.target_id) as askers
    from begun b join (
      select id, coalesce(captured_at, '-infinity') as captured_at from target where id = any(array(select target_id from begun))
    ) t on t.id = b.target_id
    where (behind_target_id is null or (b.priority_order, t.captured_at, b.slot, b.target_id)
        > (behind_priority_order, behind_captured_at, behind_slot, behind_target_id))
      and not exists (
        select from (select slot, priority_order, unnest(target_ids) as target_id from due_batch) q
        where q.target_id = b.target_id and q.slot = b.slot and q.priority_order <= b.priority_order)
    group by b.priority_order, b.slot
  ) n cross join lateral due_batches(n.priority_order, n.slot, n.captured_ats, n.target_ids, n.askers) d;
end $$;
comment on function insert_due_slots(timestamptz, bigint[], interval, bigint, bigint, smallint, timestamptz, timestamptz, integer) is
  'Queues the slots of an instant of some periods: all, or those behind a place in the order of urgency.';
revoke execute on function insert_due_slots(timestamptz, bigint[], interval, bigint, bigint, smallint, timestamptz, timestamptz, integer) from public;

-- A statement of its own takes the periods, because one may have begun since it began: one statement would take its row and not see it.
create or replace function queue_noted_slots(at_most integer, present timestamptz) returns bigint language plpgsql as $$
declare
  noted bigint[];
begin
  perform begin_progress('plan');
  noted := take_noted_periods('plan', at_most);
  if noted is not null then
    perform insert_due_slots(present, noted, null, null, null, null, null, null, null);
  end if;
  return coalesce(cardinality(noted), 0);
end $$;
comment on function queue_noted_slots(integer, timestamptz) is
  'Queues the slots of an instant of the next periods that planning has to look at for themselves, and returns how many periods these were.';
revoke execute on function queue_noted_slots(integer, timestamptz) from public;

create or replace function queue_passing_slots(
  at_most integer, present timestamptz,
  behind_priority_order smallint, behind_captured_at timestamptz, behind_slot timestamptz, behind_target_id integer
) returns bigint language plpgsql as $$
declare
  passing record;
begin
  select * into passing from take_passing_periods('plan', at_most, present);
  if passing.periods > 0 then
    perform insert_due_slots(present, null, passing.every, passing.above_id, passing.last_id,
      behind_priority_order, behind_captured_at, behind_slot, behind_target_id);
  end if;
  return coalesce(passing.periods, 0);
end $$;
comment on function queue_passing_slots(integer, timestamptz, smallint, timestamptz, timestamptz, integer) is
  'Queues the slots of an instant of the next periods whose interval planning has to look at, where they are behind a place in the order of urgency, and returns how many periods these were.';
revoke execute on function queue_passing_slots(integer, timestamptz, smallint, timestamptz, timestamptz, integer) from public;

-- It returns what one query after the other finds, so that each may have parallel workers: a statement that writes has none.
create or replace function urgent_slots(at_most integer, of_intervals interval[], present timestamptz)
returns table (priority_order smallint, captured_at timestamptz, slot timestamptz, target_id integer)
language plpgsql
set work_mem = '64MB' set enable_nestloop = off set enable_mergejoin = off set plan_cache_mode = force_custom_plan as $$
declare
  of_every interval;
  its_slot timestamptz;
begin
  foreach of_every in array of_intervals loop
    its_slot := slot_of(of_every, present);
    return query
      select (-p.priority)::smallint, coalesce(t.captured_at, '-infinity'), its_slot, p.target_id
      from watch_period p join target t on t.id = p.target_id
      where p.every = of_every and p.ended_at is null and p.target_id is not null and p.first_slot <= its_slot
      order by 1, 2, 4 limit at_most;
  end loop;
end $$;
comment on function urgent_slots(integer, interval[], timestamptz) is
  'The most urgent slots of an instant of the open periods of each of some intervals: of at most so many periods each.';
revoke execute on function urgent_slots(integer, interval[], timestamptz) from public;

-- Reading a million periods once more for their most urgent slots takes a third of what queueing all of them takes. It is noted nowhere: who
-- is broken off begins anew.
create or replace function queue_urgent_slots(at_most integer, few_periods integer, present timestamptz)
returns table (priority_order smallint, captured_at timestamptz, slot timestamptz, target_id integer)
language plpgsql set enable_nestloop = off as $$
declare
  each interval := '0';
  passing interval[] := '{}';
begin
  loop
    select min(p.every) into each from watch_period p where p.every > each and p.ended_at is null and p.target_id is not null;
    exit when each is null;
    if not exists (
      select from interval_progress i where i.work = 'plan' and i.every = each and i.slot >= slot_of(each, present)
    ) then
      passing := passing || each;
    end if;
  end loop;
  if (select count(*) <= few_periods from (
    select from watch_period p
    where p.every = any(passing) and p.ended_at is null and p.target_id is not null limit few_periods + 1
  ) p) then
    return;
  end if;
  return query
  with urgent as materialized (
    select u.* from urgent_slots(at_most, passing, present) u order by 1, 2, 3, 4 limit at_most
  ),
  queued as (
    insert into due_batch (priority_order, captured_at, slot, target_id, captured_ats, target_ids, askers)
    select d.*
    from (
      select array_agg(u.target_id) as target_ids, array_agg(u.slot) as slots, array_agg(u.priority_order) as priority_orders
      from urgent u
      where not exists (
        select from (select b.slot, b.priority_order, unnest(b.target_ids) as target_id from due_batch b) q
        where q.target_id = u.target_id and q.slot = u.slot and q.priority_order <= u.priority_order)
    ) n cross join lateral slots_due_again(n.target_ids, n.slots, n.priority_orders) d
  )
  select u.priority_order, u.captured_at, u.slot, u.target_id from urgent u order by 1 desc, 2 desc, 3 desc, 4 desc limit 1;
end $$;
comment on function queue_urgent_slots(integer, integer, timestamptz) is
  'Where the intervals that planning has to look at have more than a few periods: queues their most urgent slots of an instant, of at most so many periods, and returns the place of the last one.';
revoke execute on function queue_urgent_slots(integer, integer, timestamptz) from public;

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
create or replace function wake_waiting(scopes integer[], slots bigint[], wholes bigint[], at_most integer)
returns table (of_scope integer, from_head bigint, woken bigint)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set enable_hashjoin = off as $$
begin
  return query with gone as (
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
    returning scope, too_dear_micros, target_id, slot, priority_order
  ),
  due as (
    insert into due_batch (priority_order, captured_at, slot, target_id, captured_ats, target_ids, askers)
    select d.*
    from (
      select array_agg(g.target_id) as target_ids, array_agg(g.slot) as slots, array_agg(g.priority_order) as priority_orders from gone g
    ) n cross join lateral slots_due_again(n.target_ids, n.slots, n.priority_orders) d
  )
  select g.scope, count(*) filter (where g.too_dear_micros = 0), count(*) from gone g group by g.scope;
end $$;
comment on function wake_waiting(integer[], bigint[], bigint[], integer) is
  'Makes slots that wait for money due again, at their places of now, and returns how many of each scope: from the head of its queue, and in all.';
revoke execute on function wake_waiting(integer[], bigint[], bigint[], integer) from public;
