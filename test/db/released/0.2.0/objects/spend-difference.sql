-- Compares the totals with the charges and the tasks: no row as long as every transition has moved its money. Tests and the crash
-- harness read it.
create or replace view spend_difference as
with booked as (
  select d.scope, sum(c.amount_micros) filter (where c.kind = 'charge') as charged,
    sum(c.amount_micros) filter (where c.kind = 'refund') as refunded,
    sum(c.amount_micros) filter (where c.kind = 'duplicate') as duplicate,
    sum(c.amount_micros) filter (where c.kind = 'adjustment') as adjusted
  from (
    select project_id, kind, amount_micros from charge
    union all
    select project_id, kind, amount_micros from pruned_charge
  ) c cross join lateral (values (0), (c.project_id)) d (scope)
  group by 1
), reserved as (
  select d.scope, sum(share_of(k.estimate_micros, cardinality(k.payers), y.place)) as reserved
  from reserving_task k cross join lateral unnest(k.payers) with ordinality as y (project_id, place)
  cross join lateral (values (0), (y.project_id)) d (scope)
  group by 1
), counted as (
  select scope, sum(reserved_micros) as reserved, sum(charged_micros) as charged, sum(refunded_micros) as refunded,
    sum(duplicate_micros) as duplicate, sum(adjusted_micros) as adjusted
  from (select * from spend union all select * from spend_change) s group by 1
)
select scope, kind, counted_micros, booked_micros
from counted full join booked using (scope) full join reserved using (scope)
cross join lateral (values
  ('reserved', counted.reserved, reserved.reserved), ('charge', counted.charged, booked.charged),
  ('refund', counted.refunded, booked.refunded), ('duplicate', counted.duplicate, booked.duplicate),
  ('adjustment', counted.adjusted, booked.adjusted)
) line (kind, counted_micros, booked_micros)
where coalesce(counted_micros, 0) <> coalesce(booked_micros, 0);
comment on view spend_difference is
  'Where the totals by day and the sum of charges and reservations do not say the same: no row, unless the books are broken. Reads all charges.';
comment on column spend_difference.scope is 'project.id; 0 is all projects together.';
comment on column spend_difference.kind is 'reserved, charge, refund, duplicate or adjustment.';
comment on column spend_difference.counted_micros is 'What spend and spend_change add up to, in micro-dollars.';
comment on column spend_difference.booked_micros is 'What the charges, with those that were pruned, or the tasks that hold a reservation, add up to.';
grant select on spend_difference to storerank_editor, storerank_reader;
