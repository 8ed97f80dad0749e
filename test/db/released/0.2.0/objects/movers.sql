-- Both days of a list are one row before the apps are looked up in them; each day has one row, and `max` takes it.
create or replace function movers(in_project text, from_day date, to_day date)
returns table (
  store text, list text, keyword text, collection text, category text, location text, location_code integer,
  language text, tags text[], weight double precision, app_id text, title text, label text, role text, rank_before integer, rank_after integer, change integer,
  outcome_before text, outcome_after text, movement text, target_id integer, app integer
) language sql stable parallel safe
begin atomic
  select m.store, m.list, m.keyword, m.collection, m.category, m.location, m.location_code, m.language, m.tags, m.weight, m.app_id, m.title, m.label, m.role, m.rank_before, m.rank_after, m.rank_before - m.rank_after, m.outcome_before, m.outcome_after,
    case when m.rank_before > m.rank_after then 'up' when m.rank_before < m.rank_after then 'down'
      when m.rank_before = m.rank_after then 'same'
      when m.outcome_before = 'not_in_top' and m.rank_after is not null then 'entered'
      when m.rank_before is not null and m.outcome_after = 'not_in_top' then 'left'
      when m.outcome_before = 'not_in_top' and m.outcome_after = 'not_in_top' then 'not_in_top' end,
    m.target_id, m.app
  from (
    select l.store, l.list, l.keyword, l.collection, l.category, l.location, l.location_code, l.language, l.tags, l.weight, a.app_id, a.title, a.label, a.role, r.rank_before, r.rank_after,
      case when l.is_due_before then coalesce(l.gap_before, case when r.rank_before is not null then 'ranked'
      when l.reason_before is not null then 'failed' else 'not_in_top' end) end as outcome_before,
      case when l.is_due_after then coalesce(l.gap_after, case when r.rank_after is not null then 'ranked'
      when l.reason_after is not null then 'failed' else 'not_in_top' end) end as outcome_after,
      l.target_id, a.app
    from (
      select d.store, d.list, d.keyword, d.collection, d.category, d.location, d.location_code, d.language, d.tags, d.weight, d.target_id, bool_or(d.is_before) as is_due_before,
        max(d.app_ids) filter (where d.is_before) as ids_before, max(d.gap) filter (where d.is_before) as gap_before,
        max(d.reason) filter (where d.is_before) as reason_before, bool_or(not d.is_before) as is_due_after,
        max(d.app_ids) filter (where not d.is_before) as ids_after, max(d.gap) filter (where not d.is_before) as gap_after,
        max(d.reason) filter (where not d.is_before) as reason_after, max(d.slot) filter (where not d.is_before) as slot
      from (
        select b.*, true as is_before from list_daily(in_project, from_day, from_day) b
        union all
        select n.*, false from list_daily(in_project, to_day, to_day) n
      ) d
      group by d.store, d.list, d.keyword, d.collection, d.category, d.location, d.location_code, d.language, d.tags, d.weight, d.target_id
    ) l
    cross join lateral (
      select a.app, a.ended_at, a.app_id, a.title, a.label, a.role from project_apps(in_project) a where a.store = l.store offset 0
    ) a
    cross join lateral (
      select array_position(l.ids_before, a.app) as rank_before, array_position(l.ids_after, a.app) as rank_after offset 0
    ) r
    where l.is_due_after and l.slot < coalesce(a.ended_at, 'infinity')
  ) m;
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
