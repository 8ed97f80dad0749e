--- Watches whose present slot the budget does not reach, or whose last one failed: part of watch_problem.
create or replace view slot_problem as
with recent as (
  -- The longest interval is 31 days, so that no slot of an open period that was closed last is older than two
  -- of these.
  select storerank_now() - interval '63 days' as from_slot
), failed as (
  select f.target_id, latest.slot, latest.reason
  from (
    select h.target_id from ranking_row h where h.gap = 'failed' and h.slot > (select from_slot from recent)
    union
    select h.target_id from app_snapshot h where h.gap = 'failed' and h.slot > (select from_slot from recent)
  ) f
  cross join lateral (
    select h.slot, h.gap, h.reason from ranking_row h
    where h.target_id = f.target_id and h.slot > (select from_slot from recent)
    union all
    select h.slot, h.gap, h.reason from app_snapshot h
    where h.target_id = f.target_id and h.slot > (select from_slot from recent)
    order by slot desc limit 1
  ) latest
  where latest.gap = 'failed'
), budget (reason, whose, setting) as (
  values ('%project_budget', 'of the project', 'its daily_usd or monthly_usd'),
    ('%overall_budget', 'of all projects',
      'MAX_USD_PER_RUN, MAX_USD_PER_DAY, MAX_USD_PER_MONTH, the limits of the account or its balance')
)
select w.watch_table, w.watch_id, w.project, w.store, w.subject, told.problem,
  case w.kind when 'reviews' then 'Reviews: ' else '' end || told.message as message
from (
  -- Every watch may be cut, so that `problem` is a constant of each branch: who asks for the others reads
  -- none of these.
  select c.target_id, 'money' as problem,
    format('This slot costs %s, and the budget %s is used up: it is bought when money comes, and '
    'else becomes a gap. Raise %s, or watch less, or less often.', dollars(c.price_micros), b.whose,
      b.setting) as message, c.slot
  from due_slot c join budget b on c.cut like b.reason
  where c.cut not like 'dearer%'
  union all
  select c.target_id, 'dearer_than_budget',
    format('It costs %s a time, which is more than the whole budget %s, so it is not bought: '
    'raise %s, or lower the depth or the priority of the watch.', dollars(c.price_micros), b.whose,
      b.setting), c.slot
  from due_slot c join budget b on c.cut like b.reason
  where c.cut like 'dearer%'
  union all
  select f.target_id, 'last_slot_failed',
    format('The last measurement, due %s, failed: %s. The next slot is tried again; '
    'when that fails too, correct the watch.', utc_minute(f.slot),
    coalesce(rtrim(f.reason, '.'), 'no reason was given')), null
  from failed f
) told
cross join lateral (
  select p.kind, case p.kind when 'keyword' then 'keyword_watch' when 'chart' then 'chart_watch'
    else 'app_watch' end as watch_table, p.watch_id, p.project, t.store, t.subject
  from watch_period p
  join target t on t.id = p.target_id
  where p.target_id = told.target_id and coalesce(p.ended_at, 'infinity') = 'infinity'
    and (told.slot is null or told.slot = slot_of(p.every, (select storerank_now())))
) w;
