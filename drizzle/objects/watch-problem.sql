-- An app_watch has two parts, app and reviews; the part app says what is wrong with the whole row. All look-ups go by the key of
-- one watch, target or slot; what the references say is asked once per name, however many watches have it.
create or replace view watch_problem as
with place as materialized (
  select n.store, n.given_code, n.given_name, unknown_location(n.store, n.given_code, n.given_name) as message
  from (select distinct store, given_code, given_name from watch_part where is_wanted) n
), language as materialized (
  select n.store, n.language_code, unknown_language(n.store, n.language_code) as message
  from (select distinct store, language_code from watch_part where is_wanted) n
), spelled as (
  select w.store, w.location_code, w.language_code, lower(lower(w.subject collate "C") collate "default") as folded
  from watch_part w
  where w.kind = 'keyword' and w.is_asked
  group by 1, 2, 3, 4
  having min(w.subject collate "C") <> max(w.subject collate "C")
), spelling as (
  select w.store, w.location_code, w.language_code, w.folded, w.subject, min(w.watch_id) as watch_id, min(w.project) as project,
    max(task_price(w.depth::smallint, u.unit_results, u.unit_micros) * 2592000 / extract(epoch from w.every)) as micros
  from (
    select k.*, lower(lower(k.subject collate "C") collate "default") as folded
    from watch_part k where k.kind = 'keyword' and k.is_asked
  ) w
  join unit_price u on u.store = w.store and u.function = w.function and u.priority = w.priority
  -- Mostly there is none. In `coalesce`, so that they are looked up by hash, and never joined by a loop over all watches for each.
  where exists (select from spelled)
    and coalesce((w.store, w.location_code, w.language_code, w.folded) in (select s.store, s.location_code, s.language_code, s.folded from spelled s), false)
  group by 1, 2, 3, 4, 5
)
select w.watch_table, w.watch_id, w.project, w.store, w.subject, problem.problem,
  case w.kind when 'reviews' then 'Reviews: ' || problem.message else problem.message end as message
from (
  -- What is wrong with the place of an app is said of its row once, for the page and for the reviews.
  select k.kind, k.watch_table, k.watch_id, k.project, k.store, coalesce(k.function, 'app_info') as function, k.subject, k.category,
    k.location_code, k.given_code, k.given_name, k.language_code, k.every, k.function is not null as is_measured,
    k.kind <> 'reviews' and (k.needs_place or reviews.is_wanted is true) as tells_place
  from watch_part k
  left join watch_part reviews on k.kind = 'app' and reviews.kind = 'reviews' and reviews.watch_id = k.watch_id
  where k.is_wanted
) w
join project pr on pr.name = w.project
left join watch_period p on p.kind = w.kind and p.watch_id = w.watch_id and p.ended_at is null
left join lateral (
  select other.watch_id
  from target t
  join watch_period other on other.target_id = t.id
  where p.id is null and w.is_measured and pr.enabled
    and t.store = w.store and t.function = w.function and subject_key(t.subject) = subject_key(w.subject)
    and coalesce(t.category, '') = coalesce(w.category, '')
    and t.location_code = w.location_code and t.language_code = w.language_code
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
left join place on w.tells_place and place.store = w.store and (place.given_code, place.given_name) is not distinct from (w.given_code, w.given_name)
left join language on w.tells_place and language.store = w.store and language.language_code = w.language_code
left join budget_cut cut on cut.target_id = p.target_id and cut.slot = slot_of(p.every, storerank_now())
cross join lateral (
  select 'project_disabled' as problem, format('Nothing of the project "%s" is measured, because it is disabled: '
    'update project set enabled = true where name = %L.', w.project, w.project) as message
  where not pr.enabled and w.kind <> 'reviews'
  union all
  select 'references_missing', format('The location "%s" is looked up when the references of %s have been loaded, which '
    'the next run does.', w.given_name, w.store)
  where w.tells_place and w.location_code is null and not exists (select from location l where l.store = w.store)
  union all
  select 'location_unknown', place.message where place.message is not null
  union all
  select 'language_unknown', language.message where language.message is not null
  union all
  select 'category_unknown', unknown_category(w.store, w.category)
  where w.category is not null and unknown_category(w.store, w.category) is not null
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
) problem
union all
-- Once for all spellings, at the one that came last.
select 'keyword_watch', (array_agg(s.watch_id order by s.watch_id desc))[1], (array_agg(s.project order by s.watch_id desc))[1], s.store,
  (array_agg(s.subject order by s.watch_id desc))[1], 'differs_in_case',
  format('%s differ in case alone, which the stores do not tell apart, and each is measured: all but the first cost %s a month. Keep one '
    'of them, and delete the others.', string_agg(format('"%s" (keyword_watch %s)', s.subject, s.watch_id), ', ' order by s.watch_id),
    dollars((sum(s.micros) - (array_agg(s.micros order by s.watch_id))[1])::bigint))
from spelling s
group by s.store, s.location_code, s.language_code, s.folded
union all
select 'project', p.project_id, p.project, null, p.project, p.problem, p.message
from project_problem p
union all
select watch_table, watch_id, project, store, subject, problem, message from alert_problem;
comment on view watch_problem is
  'What keeps a watch from being measured or an alert from being told, one row per problem, with a sentence saying what to do.';
comment on column watch_problem.watch_table is 'keyword_watch, chart_watch, app_watch, project, alert_channel or alert_rule.';
comment on column watch_problem.watch_id is 'The id of the row in that table.';
comment on column watch_problem.project is 'The project; null for a channel of alerts.';
comment on column watch_problem.store is 'The store of the watch; null for a project, for a channel, and for a rule of both.';
comment on column watch_problem.subject is 'The keyword, the collection, the id of the app, or the name of the project, channel or rule.';
comment on column watch_problem.problem is 'project_disabled, references_missing, location_unknown, language_unknown, category_unknown, followed_already, money, dearer_than_budget, last_slot_failed, differs_in_case, project_nearly_another, project_without_app, channel_settings, delivery_failing, delivery_dead, app_unknown or matches_nothing.';
comment on column watch_problem.message is 'What is wrong, and what to do, as a sentence.';
grant select on watch_problem to storerank_editor, storerank_reader;
