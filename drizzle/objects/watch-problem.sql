-- The nearest name has the most pairs of letters in common with what was meant, at least three in five. Of a list of 90,000 places
-- only those are counted that are about as long or begin with it, and have two of three pairs: the first, the middle and the last. In plain SQL, because no extension
-- for it is installed everywhere.
create or replace function nearest_name(meant text, names text[]) returns text language sql immutable parallel safe
return (
  select n.name
  from unnest(names) with ordinality n (name, place)
  cross join lateral (
    select count(*) as shared from generate_series(1, char_length(meant) - 1) i
    where position(substr(lower(meant collate "C"), i, 2) in lower(n.name collate "C")) > 0
  ) pairs
  where pairs.shared >= 0.6 * (char_length(meant) - 1)
    and (char_length(n.name) between 0.6 * char_length(meant) and 1.8 * char_length(meant)
      or starts_with(lower(n.name collate "C"), lower(meant collate "C")))
    and (position(substr(lower(meant collate "C"), 1, 2) in lower(n.name collate "C")) > 0)::int
      + (position(substr(lower(meant collate "C"), greatest(char_length(meant) / 2, 1), 2) in lower(n.name collate "C")) > 0)::int
      + (position(right(lower(meant collate "C"), 2) in lower(n.name collate "C")) > 0)::int >= 2
  order by pairs.shared::float8 / (char_length(meant) + char_length(n.name)) desc, n.place
  limit 1
);
comment on function nearest_name(text, text[]) is 'The name that is nearest to what was meant, of several the first; null when none is near.';

-- An app_watch has two parts, app and reviews; the part app says what is wrong with the whole row. All look-ups go by the key of
-- one watch, target or slot.
create or replace view watch_problem as
-- Once per name, however many watches have it.
with suggestion as materialized (
  select m.store, m.location_name,
    nearest_name(m.location_name, array(select l.name from location l where l.store = m.store order by l.code)) as nearest
  from (
    select store, location_name from keyword_watch where enabled
    union
    select store, location_name from chart_watch where enabled
    union
    select store, location_name from app_watch where enabled
  ) m
  where m.location_name is not null and location_code_of(m.store, null, m.location_name) is null
)
select w.watch_table, w.watch_id, w.project, w.store, w.subject, problem.problem,
  case w.kind when 'reviews' then 'Reviews: ' || problem.message else problem.message end as message
from (
  select 'keyword_watch' as watch_table, 'keyword' as kind, 'app_searches' as function, true as is_measured,
    true as needs_place, k.id as watch_id, k.project, k.store, k.keyword as subject, null as category, k.location_code,
    k.location_name, k.language_code
  from keyword_watch k
  where k.enabled
  union all
  select 'chart_watch', 'chart', 'app_list', true, true,
    c.id, c.project, c.store, c.collection, c.category, c.location_code, c.location_name, c.language_code
  from chart_watch c
  where c.enabled
  union all
  select 'app_watch', 'app', 'app_info', a.info, a.info or a.reviews,
    a.id, a.project, a.store, a.app_id, null, a.location_code, a.location_name, a.language_code
  from app_watch a
  where a.enabled
  union all
  select 'app_watch', 'reviews', 'app_reviews', true, false,
    a.id, a.project, a.store, a.app_id, null, a.location_code, a.location_name, a.language_code
  from app_watch a
  where a.enabled and a.reviews
) w
join project pr on pr.name = w.project
cross join lateral (select location_code_of(w.store, w.location_code, w.location_name) as code offset 0) place
left join watch_period p on p.kind = w.kind and p.watch_id = w.watch_id and p.ended_at is null
left join lateral (
  select other.watch_id
  from target t
  join watch_period other on other.target_id = t.id
  where p.id is null and w.is_measured and pr.enabled
    and t.store = w.store and t.function = w.function and md5(t.subject) = md5(w.subject)
    and coalesce(t.category, '') = coalesce(w.category, '')
    and t.location_code = place.code and t.language_code = w.language_code
    and other.kind = w.kind and other.project = w.project and other.ended_at is null
  limit 1
) twin on true
left join lateral (
  select h.slot, h.gap, h.reason from ranking h
  where w.kind in ('keyword', 'chart') and h.target_id = p.target_id
  order by h.slot desc limit 1
) ranked on true
left join lateral (
  select h.slot, h.gap, h.reason from app_snapshot h
  where w.kind in ('app', 'reviews') and h.target_id = p.target_id
  order by h.slot desc limit 1
) detailed on true
cross join lateral (
  select coalesce(ranked.slot, detailed.slot) as slot, coalesce(ranked.gap, detailed.gap) as gap,
    coalesce(ranked.reason, detailed.reason) as reason
) latest
left join suggestion on (suggestion.store, suggestion.location_name) = (w.store, w.location_name)
left join budget_cut cut on cut.target_id = p.target_id and cut.slot = slot_of(p.every, storerank_now())
cross join lateral (
  select 'project_disabled' as problem, format('Nothing of the project "%s" is measured, because it is disabled: '
    'update project set enabled = true where name = %L.', w.project, w.project) as message
  where not pr.enabled and w.kind <> 'reviews'
  union all
  select 'references_missing', format('The location "%s" is looked up when the references of %s have been loaded, which '
    'the next run does.', w.location_name, w.store)
  where w.needs_place and place.code is null and not exists (select from location l where l.store = w.store)
  union all
  select 'location_unknown', format('%s has no location called "%s".', w.store, w.location_name)
    || coalesce(' Did you mean "' || suggestion.nearest || '"?', '')
    || ' Correct location_name, or give location_code instead; the table location has them all.'
  where w.needs_place and place.code is null and exists (select from location l where l.store = w.store)
  union all
  select 'location_unknown', format('%s has no location with the code %s. Correct location_code; the table location '
    'has them all.', w.store, w.location_code)
  where w.needs_place and w.location_code is not null and exists (select from location l where l.store = w.store)
    and not exists (select from location l where l.store = w.store and l.code = w.location_code)
  union all
  select 'language_unknown', format('%s has no language with the code "%s".', w.store, w.language_code)
    || coalesce((
      -- For eng, ger or en-us: by the beginning of the language's name, or of its code.
      select format(' Did you mean "%s" (%s)?', l.code, l.name) from language l
      where l.store = w.store
        and (starts_with(lower(l.name collate "C"), lower(w.language_code collate "C")) or left(l.code, 2) = left(lower(w.language_code collate "C"), 2))
      order by starts_with(lower(l.name collate "C"), lower(w.language_code collate "C")) desc, l.code limit 1
    ), '') || ' Correct language_code; the table language has them all.'
  where w.needs_place and exists (select from language l where l.store = w.store)
    and not exists (select from language l where l.store = w.store and l.code = w.language_code)
  union all
  select 'category_unknown', format('%s has no category called "%s".', w.store, w.category)
    || coalesce(' Did you mean "'
      || nearest_name(w.category, array(select c.name from category c where c.store = w.store order by c.name))
      || '"?', '')
    || ' Correct category, or leave it out for all of the collection; the table category has them all.'
  where w.category is not null and exists (select from category c where c.store = w.store)
    and not exists (select from category c where c.store = w.store and c.name = w.category)
  union all
  select 'followed_already', format(case when w.kind in ('app', 'reviews')
      then '%s %s of this project follows the same already: set %s = false in one of the two.'
      else '%s %s of this project follows the same already, and this row changes nothing: delete one of the two.'
    end, w.watch_table, twin.watch_id, case w.kind when 'app' then 'info' else w.kind end)
  where twin.watch_id is not null
  union all
  select case when cut.reason like 'dearer%' then 'dearer_than_budget' else 'money' end, format(
    case when cut.reason like 'dearer%'
      then 'It costs %s a time, which is more than the whole budget %s, so it is never bought: raise %s, or lower the '
        'depth or the priority of the watch.'
      else 'This slot costs %s, and the budget %s is used up: it is bought when money comes, and else becomes a gap. '
        'Raise %s, or watch less, or less often.'
      end, dollars(cut.price_micros), budget.whose, budget.setting)
  from (values
    ('%project_budget', 'of the project', 'its daily_usd or monthly_usd'),
    ('%overall_budget', 'of all projects', 'MAX_USD_PER_RUN, MAX_USD_PER_DAY, MAX_USD_PER_MONTH or the limits of the account')
  ) budget (reason, whose, setting)
  where cut.reason like budget.reason
  union all
  select 'last_slot_failed', format('The last measurement, due %s, failed: %s. The next slot is tried again; '
    'when that fails too, correct the watch.', to_char(latest.slot at time zone 'UTC', 'YYYY-MM-DD HH24:MI "UTC"'),
    coalesce(rtrim(latest.reason, '.'), 'no reason was given'))
  where latest.gap = 'failed'
) problem;
comment on view watch_problem is
  'What keeps a watch from being measured, one row per problem, with a sentence saying what to do.';
comment on column watch_problem.watch_table is 'keyword_watch, chart_watch or app_watch.';
comment on column watch_problem.watch_id is 'The id of the watch in that table.';
comment on column watch_problem.project is 'The project.';
comment on column watch_problem.store is 'The store of the watch.';
comment on column watch_problem.subject is 'The keyword, the collection, or the id of the app.';
comment on column watch_problem.problem is 'project_disabled, references_missing, location_unknown, language_unknown, category_unknown, followed_already, money, dearer_than_budget or last_slot_failed.';
comment on column watch_problem.message is 'What is wrong, and what to do, as a sentence.';
grant select on watch_problem to storerank_editor, storerank_reader;
