-- Summed by target before anything is looked up. Without sequential scans, because without statistics the
-- planner takes `charge_by_time` for an index that leads to every page, and reads all charges.
--- What a project spent in a range of its days on each keyword, chart, page and reviews: how many tasks, what
--- was charged (of a shared task this project's share), refunded, charged twice and adjusted, and the sum of
--- these. Add it up by store, function, keyword or tag. spend_daily has it by day. With a tag or a location,
--- on what has it.
create or replace function spend_by_target({{days}}, {{tagged}}) returns table (
  {{measured}}, location_code integer, language text, tags text[], tasks integer, spent_usd numeric,
  charged_usd numeric, refunded_usd numeric, duplicate_usd numeric, adjusted_usd numeric, target_id integer
) language sql stable parallel safe set enable_seqscan = off
begin atomic
  select {{measured t}}, t.location_code, t.language, t.tags, s.tasks, s.spent * 0.000001,
    coalesce(s.charged, 0) * 0.000001, -coalesce(s.refunded, 0) * 0.000001,
    coalesce(s.duplicate, 0) * 0.000001, coalesce(s.adjusted, 0) * 0.000001, s.target_id
  from (
    select c.target_id, count(*) filter (where c.kind = 'charge')::integer as tasks,
      sum(c.amount_micros) as spent, sum(c.amount_micros) filter (where c.kind = 'charge') as charged,
      sum(c.amount_micros) filter (where c.kind = 'refund') as refunded,
      sum(c.amount_micros) filter (where c.kind = 'duplicate') as duplicate,
      sum(c.amount_micros) filter (where c.kind = 'adjustment') as adjusted
    from charge_line c
    where c.project = in_project and c.day between from_day and to_day and {{in_days c.at}}
    group by c.target_id
  ) s
  join project_targets(in_project) t on t.target_id = s.target_id
  where is_of(t.tags, t.location, in_tag, in_location);
end;

--- What a project saved in a range of its days because other projects follow the same keyword, chart, page or
--- reviews: what each would have cost it alone, and what its share was. With a tag or a location, of what has
--- it.
create or replace function sharing_savings({{days}}, {{tagged}}) returns table (
  {{measured}}, language text, tags text[], shared_tasks integer, spent_usd numeric, full_usd numeric,
  saved_usd numeric, target_id integer
) language sql stable parallel safe set enable_seqscan = off
begin atomic
  with shared as (
    select b.target_id, count(*) filter (where b.kind = 'charge')::integer as tasks,
      sum(b.own) * 0.000001 as own_usd, sum(b.everybody) * 0.000001 as full_usd
    from (
      select s.target_id, s.kind, sum(s.amount_micros) filter (where s.project = in_project) as own,
        sum(s.amount_micros) as everybody
      from charge_line s
      where s.kind in ('charge', 'refund') and {{in_days s.at}}
      group by s.service_id, s.kind, s.target_id
      having count(*) > 1 and bool_or(s.project = in_project and s.day between from_day and to_day)
    ) b
    group by b.target_id
  )
  select {{measured t}}, t.language, t.tags, s.tasks, s.own_usd, s.full_usd, s.full_usd - s.own_usd,
    s.target_id
  from shared s
  join project_targets(in_project) t on t.target_id = s.target_id
  where is_of(t.tags, t.location, in_tag, in_location);
end;
