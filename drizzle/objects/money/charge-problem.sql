--- What the service charged twice, or otherwise than its price list says: part of task_problem.
--- .kind: duplicate or price.
create or replace view charge_problem as
select min(c.at) as at, 'duplicate' as kind, {{target g}}, c.slot,
  (select k.id from task k where k.target_id = g.id and k.slot = c.slot and k.state <> 'dropped') as task_id,
  c.service_id, null::integer as status_code,
  format('The service took another %s for a task that was paid for already.',
    dollars(sum(c.amount_micros)::bigint)) as message
from charge c
join target g on g.id = c.target_id
where c.kind = 'duplicate'
group by g.id, c.slot, c.service_id
union all
-- Of a unit for a week: from then on it is what the service bills by.
select c.learned_at, 'price', c.store, c.function, null, null, null, null, null, c.service_id, null,
  case when c.is_doubted then format(
    'The service took %s a unit%s, and its price list says %s. The next task is bought alone and at the '
      'price of the list, and the nightly audit compares what was taken.', dollars(c.unit_micros),
        at.priority, dollars(u.listed_micros))
    when c.reserved_results is not null then format(
      'The service took more than its price list says: it bills %s results as one unit and not %s, or takes '
      'more for a unit. Budgets reserve the dearer until a task of another depth says which.',
      c.unit_results, u.stated_results)
    when c.unit_results is not null and c.unit_micros <= u.listed_micros
      then format('The service bills %s results as one unit, and not %s: '
      'budgets, plans and refunds go by that now.', c.unit_results, u.stated_results)
    else format(
      'The service takes %s a unit%s, and its price list says %s: budgets and plans go by what it takes. '
      'Ask the service why.',
      dollars(c.unit_micros), at.priority, dollars(u.listed_micros)) end
from charged_price c
join unit_price u using (store, function, priority)
cross join lateral (select case c.priority when 2 then ' at priority 2' else '' end as priority) at
where c.charged_at > now() - interval '8 days'
  and (c.is_doubted or c.unit_micros > u.listed_micros or c.unit_results is not null
    and c.learned_at > now() - interval '7 days');
