-- As owed_slot has it, with time zones looked up once a slot.
--- The slots of owed_slot of a project in a range of its days: what became of them, by day. Reads the
--- partitions of the range alone.
create or replace function owed_slots({{days}}) returns table (
  day date, store text, function text, subject text, tags text[], location text, gap text, reason text
) {{begin}}
  select c.day, p.store, case p.list when 'chart' then 'app_list' else 'app_searches' end,
    coalesce(p.keyword, p.collection), p.tags, p.location, r.gap, r.reason
  from ranking_row r
  join project_lists(in_project) p on p.target_id = r.target_id
  {{on_days r p}}
  where {{in_days r.slot}}
    and case when r.slot < p.first_slot or r.slot > p.last_slot then false
      when r.gap = 'missed' then slot_end(p.every, r.slot) <= coalesce(p.ended_at, 'infinity') else true end
  union all
  select c.day, p.store, case p.list when 'chart' then 'app_list' else 'app_searches' end,
    coalesce(p.keyword, p.collection), p.tags, p.location, 'pending', null
  from pending_rankings(in_project, from_day, to_day) s
  join project_lists(in_project) p on p.period_id = s.period_id
  {{on_days s p}}
  union all
  select c.day, t.store, t.function, t.app_id, t.tags, t.location, s.gap, s.reason
  from app_slot s
  join project_targets(in_project) t on t.target_id = s.target_id
  {{on_days s s}}
  where s.project = in_project and {{in_days s.slot}};
end;

--- What became of the slots of each day of a project: how many were owed, captured (measured), failed (no
--- result, or one that could not be read), left out for want of budget, missed (over before anything asked
--- for them), html_only (measured, but as a page without ranks), and pending. captured_share is that of those
--- that are over; null while none is. With a tag or a location, of what has it.
create or replace function coverage({{days}}, {{tagged}}) returns table (
  day date, store text, function text, owed integer, captured integer, failed integer, budget integer,
  missed integer, html_only integer, pending integer, captured_share numeric
) {{begin}}
  select s.day, s.store, s.function, count(*)::integer, count(*) filter (where s.gap is null)::integer,
    count(*) filter (where s.gap = 'failed')::integer, count(*) filter (where s.gap = 'budget')::integer,
    count(*) filter (where s.gap = 'missed')::integer, count(*) filter (where s.gap = 'html_only')::integer,
    count(*) filter (where s.gap = 'pending')::integer,
    trim_scale(round(
      count(*) filter (where s.gap is null)::numeric
        / nullif(count(*) filter (where s.gap is distinct from 'pending'), 0), 4))
  from owed_slots(in_project, from_day, to_day) s
  where is_of(s.tags, s.location, in_tag, in_location)
  group by 1, 2, 3;
end;

--- Why there is no measurement: the gaps of each day of a project by kind and reason, how many slots each is
--- of, and up to three of the keywords, apps and collections. pending is what may still come. With a tag or a
--- location, of what has it.
create or replace function gap_reasons({{days}}, {{tagged}}) returns table (
  day date, store text, function text, gap text, reason text, slots integer, examples text[]
) {{begin}}
  select s.day, s.store, s.function, s.gap, s.reason, count(*)::integer, (array_agg(distinct s.subject))[:3]
  from owed_slots(in_project, from_day, to_day) s
  where s.gap is not null and is_of(s.tags, s.location, in_tag, in_location)
  group by 1, 2, 3, 4, 5;
end;
