-- Days of which charges are pruned are compared in one sum. Charges are added up by the quarter of an hour
-- first, in which no day begins, because each sum is looked up by its day.
--- Where the totals of a day and the sum of its charges and reservations do not say the same: no row, unless
--- the books are broken. Reads all charges.
--- .kind: reserved, charge, refund, duplicate or adjustment.
create or replace view spend_difference as
with bound as (
  select coalesce(max(ends_at), '-infinity') as at from spend where begins_at = '-infinity'
), booked as (
  select d.scope, d.begins_at, m.kind, sum(m.micros) as micros
  from (
    select project_id, date_bin('15 minutes', at, '2001-01-01 00:00+00') as at, kind,
      sum(amount_micros) as micros
    from charge group by 1, 2, 3
    union all
    select y.project_id, k.reserved_at, 'reserved', share_of(k.estimate_micros, cardinality(k.payers),
      y.place)
    from reserving_task k cross join lateral unnest(k.payers) with ordinality as y (project_id, place)
  ) m cross join lateral money_days(m.project_id, m.at) d
  group by 1, 2, 3
), counted as (
  select s.scope, s.begins_at, line.kind, sum(line.micros) as micros
  from spend s
  cross join lateral (values
    ('reserved', s.reserved_micros), ('charge', s.charged_micros), ('refund', s.refunded_micros),
    ('duplicate', s.duplicate_micros), ('adjustment', s.adjusted_micros)
  ) line (kind, micros)
  group by 1, 2, 3
)
select scope, nullif(day, '-infinity') as begins_at, kind, sum(counted_micros) as counted_micros,
  sum(booked_micros) as booked_micros
from (
  select scope, begins_at, kind, case when begins_at > '-infinity' then micros else 0 end as counted_micros,
    case when begins_at > '-infinity' then 0 else micros end as booked_micros
  from counted
  union all
  select scope, begins_at, kind, 0, micros from booked
) line
cross join lateral (
  select case when line.begins_at >= bound.at then line.begins_at else '-infinity' end as day from bound
) d
group by scope, day, kind
having sum(counted_micros) <> sum(booked_micros);
