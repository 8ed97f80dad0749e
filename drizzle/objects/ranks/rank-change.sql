--- Ranks climbed between two measurements, negative when it fell; at least so many, where one of them did not
--- find the app; null when that is not known.
create or replace function rank_climb(
  rank_before integer, outcome_before text, depth_before integer, rank_after integer, outcome_after text,
  depth_after integer
) returns integer language sql immutable parallel safe
return case
  when outcome_before = 'ranked' and outcome_after = 'ranked' then rank_before - rank_after
  when outcome_before = 'ranked' and outcome_after = 'not_in_top'
    and rank_before <= depth_after then rank_before - depth_after - 1
  when outcome_before = 'not_in_top' and outcome_after = 'ranked'
    and rank_after <= depth_before then depth_before + 1 - rank_after
end;

--- What a change by rank_climb is called: up, down, same; entered and left (what was looked at); not_in_top
--- (neither time); null when it is not known.
create or replace function rank_movement(in_change integer, outcome_before text, outcome_after text)
  returns text
language sql immutable parallel safe
return case when outcome_before = 'not_in_top' and outcome_after = 'not_in_top' then 'not_in_top'
  when in_change is null then null when outcome_before = 'not_in_top' then 'entered'
  when outcome_after = 'not_in_top' then 'left' when in_change > 0 then 'up' when in_change < 0 then 'down'
  else 'same' end;

-- Hours, because a day of the session's time zone may have 23. The arrays of the past are looked up once for
-- all apps; at most one row has each slot, and `max` takes it.
--- rank_latest, beside the ranks and outcomes of exactly 1, 7 and 30 days before. What fell out of the top
--- has a change too: at least as far as to the first rank that was not looked at.
create or replace view rank_change as
select l.project, {{list l}}, {{app l}}, l.day, l.slot, l.captured_at, l.rank, l.absolute_rank, l.depth,
  l.results_count, l.outcome, l.reason, l.check_url, l.every, l.target_id, l.app, past.rank_1d,
  rank_climb(past.rank_1d, past.outcome_1d, was.depth_1d, l.rank, l.outcome, l.depth) as change_1d,
  past.rank_7d,
  rank_climb(past.rank_7d, past.outcome_7d, was.depth_7d, l.rank, l.outcome, l.depth) as change_7d,
  past.rank_30d,
  rank_climb(past.rank_30d, past.outcome_30d, was.depth_30d, l.rank, l.outcome, l.depth) as change_30d,
  past.outcome_1d, past.outcome_7d, past.outcome_30d
from rank_latest l
-- <history>
cross join lateral (
  select max(r.app_ids) filter (where r.slot = l.slot - interval '24 hours') as ids_1d,
    max(r.app_ids) filter (where r.slot = l.slot - interval '168 hours') as ids_7d,
    max(r.app_ids) filter (where r.slot = l.slot - interval '720 hours') as ids_30d,
    max(r.depth) filter (where r.slot = l.slot - interval '24 hours') as depth_1d,
    max(r.depth) filter (where r.slot = l.slot - interval '168 hours') as depth_7d,
    max(r.depth) filter (where r.slot = l.slot - interval '720 hours') as depth_30d,
    max(u.outcome) filter (where r.slot = l.slot - interval '24 hours') as unranked_1d,
    max(u.outcome) filter (where r.slot = l.slot - interval '168 hours') as unranked_7d,
    max(u.outcome) filter (where r.slot = l.slot - interval '720 hours') as unranked_30d
  from ranking_row r
  cross join lateral (
    select rank_outcome(null, r.gap, r.reason) as outcome
  ) u
  where r.target_id = l.target_id
    and r.slot in (l.slot - interval '24 hours', l.slot - interval '168 hours', l.slot - interval '720 hours')
    and {{asked l l.project r}}
) was
-- </history>
cross join lateral (
  select f.rank_1d, f.rank_7d, f.rank_30d,
    case when f.rank_1d is null then was.unranked_1d else 'ranked' end as outcome_1d,
    case when f.rank_7d is null then was.unranked_7d else 'ranked' end as outcome_7d,
    case when f.rank_30d is null then was.unranked_30d else 'ranked' end as outcome_30d
  from (
    select array_position(was.ids_1d, l.app) as rank_1d, array_position(was.ids_7d, l.app) as rank_7d,
      array_position(was.ids_30d, l.app) as rank_30d offset 0
  ) f
) past;
