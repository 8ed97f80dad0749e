create or replace function coverage(in_project text, from_day date, to_day date, in_tag text default null)
returns table (
  day date, store text, function text, owed integer, captured integer, failed integer, budget integer, missed integer,
  html_only integer, pending integer, captured_share double precision
) language sql stable parallel safe
begin atomic
  select s.day, s.store, s.function, count(*)::integer, count(*) filter (where s.gap is null)::integer,
    count(*) filter (where s.gap = 'failed')::integer, count(*) filter (where s.gap = 'budget')::integer,
    count(*) filter (where s.gap = 'missed')::integer, count(*) filter (where s.gap = 'html_only')::integer,
    count(*) filter (where s.gap = 'pending')::integer,
    count(*) filter (where s.gap is null)::double precision / nullif(count(*) filter (where s.gap is distinct from 'pending'), 0)
  from owed_slot s
  where s.project = in_project and s.day between from_day and to_day
    and s.slot >= (from_day - 1)::timestamp at time zone 'UTC' and s.slot < (to_day + 2)::timestamp at time zone 'UTC'
    and (in_tag is null or in_tag = any(s.tags))
  group by 1, 2, 3;
end;
comment on function coverage(text, date, date, text) is
  'What became of the slots of each day of a project: how many were owed, captured (measured), failed (no result, or one that could not be read), left out for want of budget, missed (over before anything asked for them), html_only (measured, but as a page without ranks), and pending. captured_share is that of those that are over; null while none is. With a tag, of what has it.';

create or replace function gap_reasons(in_project text, from_day date, to_day date, in_tag text default null)
returns table (day date, store text, function text, gap text, reason text, slots integer, examples text[])
language sql stable parallel safe
begin atomic
  select s.day, s.store, s.function, s.gap, s.reason, count(*)::integer, (array_agg(distinct s.subject))[:3]
  from owed_slot s
  where s.project = in_project and s.day between from_day and to_day and s.gap is not null
    and s.slot >= (from_day - 1)::timestamp at time zone 'UTC' and s.slot < (to_day + 2)::timestamp at time zone 'UTC'
    and (in_tag is null or in_tag = any(s.tags))
  group by 1, 2, 3, 4, 5;
end;
comment on function gap_reasons(text, date, date, text) is
  'Why there is no measurement: the gaps of each day of a project by kind and reason, how many slots each is of, and up to three of the keywords, apps and collections. pending is what may still come. With a tag, of what has it.';
