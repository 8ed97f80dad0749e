-- Summed by target before anything is looked up: functions of their own, of whose rows the planner takes so
-- many for granted that it joins them at once. Without sequential scans, because without statistics it takes
-- `charge_by_time` for an index that leads to every page, and reads all charges.
create or replace function spend_sums({{days}}) returns table (
  target_id integer, tasks integer, spent_usd numeric, charged_usd numeric, refunded_usd numeric,
  duplicate_usd numeric, adjusted_usd numeric
) language sql stable strict parallel safe rows 1000 set enable_seqscan = off
begin atomic
  select s.target_id, count(*) filter (where s.kind = 'charge')::integer, sum(s.amount_micros) * 0.000001,
    coalesce(sum(s.amount_micros) filter (where s.kind = 'charge'), 0) * 0.000001,
    -coalesce(sum(s.amount_micros) filter (where s.kind = 'refund'), 0) * 0.000001,
    coalesce(sum(s.amount_micros) filter (where s.kind = 'duplicate'), 0) * 0.000001,
    coalesce(sum(s.amount_micros) filter (where s.kind = 'adjustment'), 0) * 0.000001
  from charge_line s
  where s.project = in_project and s.day between from_day and to_day and {{in_days s.at}}
  group by s.target_id;
end;

--- What a project spent in a range of its days on each keyword, chart, page and reviews: how many tasks, what
--- was charged (of a shared task this project's share), refunded, charged twice and adjusted, and the sum of
--- these. Add it up by store, function, keyword or tag. spend_daily has it by day. With a tag or a location,
--- on what has it.
create or replace function spend_by_target({{days}}, {{tagged}}) returns table (
  {{measured}}, location_code integer, language text, tags text[], tasks integer, spent_usd numeric,
  charged_usd numeric, refunded_usd numeric, duplicate_usd numeric, adjusted_usd numeric, target_id integer
) {{begin}}
  select {{measured t}}, t.location_code, t.language, t.tags, s.tasks, s.spent_usd, s.charged_usd,
    s.refunded_usd, s.duplicate_usd, s.adjusted_usd, s.target_id
  from spend_sums(in_project, from_day, to_day) s
  join project_targets(in_project) t on t.target_id = s.target_id
  where is_of(t.tags, t.location, in_tag, in_location);
end;

--- What a project paid, and all that shared it, of each target that was shared in a range of its days.
create or replace function shared_sums({{days}})
returns table (target_id integer, tasks integer, own_usd numeric, full_usd numeric)
language sql stable strict parallel safe rows 1000 set enable_seqscan = off
begin atomic
  select b.target_id, count(*) filter (where b.kind = 'charge')::integer, sum(b.own) * 0.000001,
    sum(b.everybody) * 0.000001
  from (
    select s.target_id, s.kind, sum(s.amount_micros) filter (where s.project = in_project) as own,
      sum(s.amount_micros) as everybody
    from charge_line s
    where s.kind in ('charge', 'refund') and {{in_days s.at}}
    group by s.service_id, s.kind, s.target_id
    having count(*) > 1 and bool_or(s.project = in_project and s.day between from_day and to_day)
  ) b
  group by b.target_id;
end;

--- What a project saved in a range of its days because other projects follow the same keyword, chart, page or
--- reviews: what each would have cost it alone, and what its share was. With a tag or a location, of what has
--- it.
create or replace function sharing_savings({{days}}, {{tagged}}) returns table (
  {{measured}}, language text, tags text[], shared_tasks integer, spent_usd numeric, full_usd numeric,
  saved_usd numeric, target_id integer
) {{begin}}
  select {{measured t}}, t.language, t.tags, s.tasks, s.own_usd, s.full_usd, s.full_usd - s.own_usd,
    s.target_id
  from shared_sums(in_project, from_day, to_day) s
  join project_targets(in_project) t on t.target_id = s.target_id
  where is_of(t.tags, t.location, in_tag, in_location);
end;
