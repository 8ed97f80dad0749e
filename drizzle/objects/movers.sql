create or replace function movers(in_project text, from_day date, to_day date)
returns table (
  store text, list text, keyword text, collection text, category text, location text, location_code integer,
  language text, tags text[], weight double precision, app_id text, title text, label text, role text, rank_before integer, rank_after integer, change integer,
  outcome_before text, outcome_after text, movement text, target_id integer, app integer
) language sql stable parallel safe
begin atomic
  select n.store, n.list, n.keyword, n.collection, n.category, n.location, n.location_code, n.language, n.tags, n.weight, n.app_id, n.title, n.label, n.role, b.rank, n.rank, b.rank - n.rank, b.outcome, n.outcome,
    case when b.rank > n.rank then 'up' when b.rank < n.rank then 'down' when b.rank = n.rank then 'same'
      when b.outcome = 'not_in_top' and n.rank is not null then 'entered'
      when b.rank is not null and n.outcome = 'not_in_top' then 'left'
      when b.outcome = 'not_in_top' and n.outcome = 'not_in_top' then 'not_in_top' end,
    n.target_id, n.app
  from rank_daily(in_project, to_day, to_day) n
  left join rank_daily(in_project, from_day, from_day) b on b.target_id = n.target_id and b.app = n.app;
end;
comment on function movers(text, date, date) is
  'The ranks of two days side by side: change is how many ranks an app climbed, negative when it fell, null where either day was not measured or not ranked. movement: up, down, same; entered and left (what was looked at); not_in_top (on neither day); null where either day was not measured. A gap is never a move.';

create or replace function entered_left_top(in_project text, from_day date, to_day date, in_top integer default 10)
returns table (
  store text, list text, keyword text, collection text, category text, location text, location_code integer,
  language text, tags text[], weight double precision, app_id text, title text, label text, role text, movement text, rank_before integer, rank_after integer, target_id integer, app integer
) language sql stable parallel safe
begin atomic
  select m.store, m.list, m.keyword, m.collection, m.category, m.location, m.location_code, m.language, m.tags, m.weight, m.app_id, m.title, m.label, m.role, case when coalesce(m.rank_after <= in_top, false) then 'entered' else 'left' end,
    m.rank_before, m.rank_after, m.target_id, m.app
  from movers(in_project, from_day, to_day) m
  where m.movement is not null
    and coalesce(m.rank_before <= in_top, false) <> coalesce(m.rank_after <= in_top, false);
end;
comment on function entered_left_top(text, date, date, integer) is
  'Which apps of a project entered or left the top 10 (or another) of which keyword or chart between two days that were both measured.';
