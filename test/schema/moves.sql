-- An account without limits says 0 in each of them.
update account_usage set day_limit_micros = nullif(day_limit_micros, 0),
  minute_limit_micros = nullif(minute_limit_micros, 0),
  calls_per_minute_limit = nullif(calls_per_minute_limit, 0)
where 0 in (day_limit_micros, minute_limit_micros, calls_per_minute_limit);
----
insert into money_zone (project_id, since, timezone) select id, '-infinity', timezone from project;
----
-- From the slot on in which a period was not closed yet: what of it has a task or a row in the history is not
-- opened again.
insert into period_change (period_id, from_slot)
select id, date_bin(every, greatest(first_slot, closed_to), timestamptz '2001-01-01 00:00:00+00')
  from watch_period
where target_id is not null and (ended_at is null or closed_to < ended_at);
----
insert into due_slot (target_id, slot, ends_at, priority, captured_at, askers, cut, price_micros)
select c.target_id, c.slot, c.slot_ends_at, coalesce(p.priority, 1), coalesce(t.captured_at, '-infinity'),
  p.askers, c.reason, c.price_micros
from budget_cut c join target t on t.id = c.target_id
cross join lateral (
  select max(p.priority) as priority, count(*) as askers from watch_period p where p.target_id = c.target_id
    and p.ended_at is null
) p;
----
-- Tasks that a claim has dropped, and closing has not seen yet.
insert into due_slot (target_id, slot, ends_at, priority, captured_at, askers, problem)
select k.target_id, k.slot, max(k.slot_ends_at), max(k.priority), max(coalesce(t.captured_at, '-infinity')),
  max(cardinality(k.payers)),
  'It was planned, but its slot ended before it could be sent.'
from task k join target t on t.id = k.target_id
where k.state = 'dropped' and k.ended_at is null
  and not exists (select from task o where o.target_id = k.target_id and o.slot = k.slot
    and o.state <> 'dropped')
group by k.target_id, k.slot
on conflict do nothing;
----
delete from task where state = 'dropped' and ended_at is null and attempt = 1;
----
update task set ended_at = clock_timestamp() where state = 'dropped' and ended_at is null;
----
update ledger set account = (select account from service_account);
----
update alert_channel c set problem_kind = p.kind, problem = p.problem
from alert_channel_problem p where p.channel_id = c.id;
----
update spend set change_id = 0;
----
create or replace function ledger_taken() returns bigint language plpgsql stable as $$
begin
  return (select l.taken_micros from ledger l)
    + coalesce((select sum(c.charged_micros + c.duplicate_micros)
        from spend c where c.scope = 0 and c.change_id > 0), 0);
end $$;
----
insert into spend (scope, begins_at, ends_at, reserved_micros, charged_micros, refunded_micros,
  duplicate_micros, adjusted_micros, tasks_charged)
select * from spend_change;
----
insert into spend (scope, begins_at, ends_at, change_id, reserved_micros, charged_micros, refunded_micros,
  duplicate_micros, adjusted_micros, tasks_charged)
select d.scope, '-infinity', max(c.before), 0, 0,
  coalesce(sum(c.amount_micros) filter (where c.kind = 'charge'), 0),
  coalesce(sum(c.amount_micros) filter (where c.kind = 'refund'), 0),
  coalesce(sum(c.amount_micros) filter (where c.kind = 'duplicate'), 0),
  coalesce(sum(c.amount_micros) filter (where c.kind = 'adjustment'), 0), 0
from pruned_charge c cross join lateral (values (0), (c.project_id)) d (scope)
group by d.scope;
----
-- It has no key, and a publication of all tables refuses to delete from what has no identity.
alter table period_change replica identity full;
----
insert into category (store, kind, name, listings)
select store, 'listing', name, listings from listing_category;
