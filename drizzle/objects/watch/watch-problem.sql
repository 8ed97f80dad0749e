-- What is wrong is found, and not looked for: each branch begins with the few rows that may be wrong, so that
-- a million watches in order cost next to nothing. Open periods are looked up by `coalesce`, so
-- that the index of all that are open is not read beside.
create or replace view watch_problem as
with recursive keyword_place as (
  -- One row of the index per place, each found behind the one before.
  (select k.store, coalesce(k.location_code, 0) as code, coalesce(k.location_name, '') as name,
    k.language_code
  from keyword_watch k order by 1, 2, 3, 4 limit 1)
  union all
  select further.* from keyword_place p
  cross join lateral (
    select k.store, coalesce(k.location_code, 0), coalesce(k.location_name, ''), k.language_code
      from keyword_watch k
    where (k.store, coalesce(k.location_code, 0), coalesce(k.location_name, ''), k.language_code)
      > (p.store, p.code, p.name, p.language_code)
    order by 1, 2, 3, 4 limit 1
  ) further
), place as (
  select store, code, name, language_code from keyword_place
  union
  select store, coalesce(location_code, 0), coalesce(location_name, ''), language_code from chart_watch
    where enabled
  union
  -- An app has a place for its page and its reviews.
  select store, coalesce(location_code, 0), coalesce(location_name, ''), language_code from app_watch
    where enabled and (info or reviews)
), location_problem as materialized (
  select n.store, n.code, n.name, told.problem, told.message
  from (select distinct store, code, name from place) n
  cross join lateral (
    select 'references_missing' as problem,
      format('The location "%s" is looked up when the references of %s have been loaded, which '
      'the next run does.', n.name, n.store) as message
    where n.name <> '' and not exists (select from location l where l.store = n.store)
    union all
    select 'location_unknown', unknown_location(n.store, nullif(n.code, 0)::integer, nullif(n.name, ''))
  ) told
  where told.message is not null
), language_problem as materialized (
  select n.store, n.language_code, n.message
  from (select store, language_code, unknown_language(store, language_code) as message
    from (select distinct store, language_code from place) d) n
  where n.message is not null
), place_problem as (
  select p.store, p.code, p.name, p.language_code, l.problem, l.message
  from place p join location_problem l on l.store = p.store and l.code = p.code and l.name = p.name
  union all
  select p.store, p.code, p.name, p.language_code, 'language_unknown', l.message
  from place p join language_problem l on l.store = p.store and l.language_code = p.language_code
), recent as (
  -- The longest interval is 31 days, so that no slot of an open period that was closed last is older than two
  -- of these.
  select storerank_now() - interval '63 days' as from_slot
), failed as (
  select f.target_id, latest.slot, latest.reason
  from (select distinct h.target_id from ranking_row h where h.gap = 'failed'
    and h.slot > (select from_slot from recent)) f
  cross join lateral (
    select h.slot, h.gap, h.reason from ranking_row h where h.target_id = f.target_id
      and h.slot > (select from_slot from recent)
    order by h.slot desc limit 1
  ) latest
  where latest.gap = 'failed'
  union all
  select f.target_id, latest.slot, latest.reason
  from (select distinct h.target_id from app_snapshot h where h.gap = 'failed'
    and h.slot > (select from_slot from recent)) f
  cross join lateral (
    select h.slot, h.gap, h.reason from app_snapshot h where h.target_id = f.target_id
      and h.slot > (select from_slot from recent)
    order by h.slot desc limit 1
  ) latest
  where latest.gap = 'failed'
), budget (reason, whose, setting) as (
  values ('%project_budget', 'of the project', 'its daily_usd or monthly_usd'),
    ('%overall_budget', 'of all projects',
      'MAX_USD_PER_RUN, MAX_USD_PER_DAY, MAX_USD_PER_MONTH, the limits of the account or its balance')
), folded as materialized (
  -- Most lists are in small letters, and the index of targets with capitals is small.
  select distinct t.store, t.location_code, t.language_code, folded_subject(t.subject) as subject
  from target t where t.function = 'app_searches' and t.subject <> folded_subject(t.subject)
), spelling as (
  select t.store, t.location_code, t.language_code, f.subject as folded, t.subject,
    min(p.watch_id) as watch_id,
    min(p.project) as project, max(task_price(p.depth, u.unit_results, u.unit_micros) * 2592000
      / extract(epoch from p.every)) as micros
  from folded f
  cross join lateral (
    select o.* from target o
    where o.function = 'app_searches' and o.subject <> folded_subject(o.subject)
      and folded_subject(o.subject) = f.subject
    union all
    select o.* from target o
    where subject_key(o.subject) collate "C" = subject_key(f.subject) and o.function = 'app_searches'
  ) t
  cross join lateral (
    select p.* from watch_period p where p.target_id = t.id and p.kind = 'keyword'
      and coalesce(p.ended_at, 'infinity') = 'infinity'
  ) p
  join unit_price u on u.store = t.store and u.function = t.function and u.priority = p.priority
  where (t.store, t.location_code, t.language_code) = (f.store, f.location_code, f.language_code)
  group by t.id, t.store, t.location_code, t.language_code, f.subject, t.subject
)
select w.watch_table, w.watch_id, w.project, w.store, w.subject, 'project_disabled' as problem,
  format('Nothing of the project "%s" is '
  'measured, because it is disabled: update project set enabled = true where name = %L.', w.project,
    w.project) as message
from project pr
cross join lateral (
  select k.* from watch_part k where k.project = pr.name and k.is_wanted and k.kind <> 'reviews'
) w
where not pr.enabled
union all
select 'keyword_watch', w.id, w.project, w.store, w.keyword, p.problem, p.message
from place_problem p
join keyword_watch w on w.store = p.store and coalesce(w.location_code, 0) = p.code
  and coalesce(w.location_name, '') = p.name
  and w.language_code = p.language_code
where w.enabled
union all
select 'chart_watch', w.id, w.project, w.store, w.collection, p.problem, p.message
from place_problem p
join chart_watch w on w.store = p.store and coalesce(w.location_code, 0) = p.code
  and coalesce(w.location_name, '') = p.name
  and w.language_code = p.language_code
where w.enabled
union all
-- What is wrong with the place of an app is said of its row once, for the page and for the reviews.
select 'app_watch', w.id, w.project, w.store, w.app_id, p.problem, p.message
from place_problem p
join app_watch w on w.store = p.store and coalesce(w.location_code, 0) = p.code
  and coalesce(w.location_name, '') = p.name
  and w.language_code = p.language_code
where w.enabled and (w.info or w.reviews)
union all
select 'chart_watch', w.id, w.project, w.store, w.collection, 'collection_unknown', n.message
from (select store, collection, category, unknown_collection(store, collection, category) as message
  from (select distinct store, collection, category from chart_watch where enabled) d) n
join chart_watch w on w.store = n.store and w.collection = n.collection
  and coalesce(w.category, '') = coalesce(n.category, '')
where w.enabled and n.message is not null
union all
select 'chart_watch', w.id, w.project, w.store, w.collection, 'category_unknown', n.message
from (select store, category, unknown_category(store, category) as message
  from (select distinct store, category from chart_watch where enabled and category is not null) d) n
join chart_watch w on w.store = n.store and w.category = n.category
where w.enabled and n.message is not null
union all
select w.watch_table, w.watch_id, w.project, w.store, w.subject, 'followed_already',
  case w.kind when 'reviews' then 'Reviews: ' else '' end || format(case when w.kind in ('app', 'reviews')
      then '%s %s of this project follows the same already: set %s = false in one of the two.'
      else
        '%s %s of this project follows the same already, and this row changes nothing: delete one of the '
        'two.'
    end, w.watch_table, twin.watch_id, case w.kind when 'app' then 'info' else w.kind end)
from watch_part w
cross join lateral (
  select other.watch_id
  from target t
  join watch_period other on other.target_id = t.id
  where t.store = w.store and t.function = w.function and subject_key(t.subject) collate "C"
    = subject_key(w.subject)
    and coalesce(t.category, '') = coalesce(w.category, '')
    and t.location_code = w.location_code and t.language_code = w.language_code
    and other.kind = w.kind and other.project || '' = w.project
      and coalesce(other.ended_at, 'infinity') = 'infinity' and other.watch_id <> w.watch_id
  limit 1
) twin
where w.is_asked and w.function is not null and not exists (
  select from watch_period p where p.kind = w.kind and p.watch_id = w.watch_id and p.ended_at is null
)
union all
select w.watch_table, w.watch_id, w.project, w.store, w.subject, told.problem,
  case w.kind when 'reviews' then 'Reviews: ' else '' end || told.message
from (
  -- Every watch may be cut, so that `problem` is a constant of each branch: who asks for the others reads
  -- none of these.
  select c.target_id, 'money' as problem,
    format('This slot costs %s, and the budget %s is used up: it is bought when money comes, and '
    'else becomes a gap. Raise %s, or watch less, or less often.', dollars(c.price_micros), b.whose,
      b.setting) as message, c.slot
  from due_slot c join budget b on c.cut like b.reason
  where c.cut not like 'dearer%'
  union all
  select c.target_id, 'dearer_than_budget',
    format('It costs %s a time, which is more than the whole budget %s, so it is not bought: '
    'raise %s, or lower the depth or the priority of the watch.', dollars(c.price_micros), b.whose,
      b.setting), c.slot
  from due_slot c join budget b on c.cut like b.reason
  where c.cut like 'dearer%'
  union all
  select f.target_id, 'last_slot_failed',
    format('The last measurement, due %s, failed: %s. The next slot is tried again; '
    'when that fails too, correct the watch.', to_char(f.slot at time zone 'UTC', 'YYYY-MM-DD HH24:MI "UTC"'),
    coalesce(rtrim(f.reason, '.'), 'no reason was given')), null
  from failed f
) told
cross join lateral (
  select p.kind, case p.kind when 'keyword' then 'keyword_watch' when 'chart' then 'chart_watch'
    else 'app_watch' end as watch_table,
    p.watch_id, p.project, t.store, t.subject
  from watch_period p
  join target t on t.id = p.target_id
  where p.target_id = told.target_id and coalesce(p.ended_at, 'infinity') = 'infinity'
    and (told.slot is null or told.slot = slot_of(p.every, (select storerank_now())))

) w
union all
-- Once for all spellings, at the one that came last.
select 'keyword_watch', (array_agg(s.watch_id order by s.watch_id desc))[1],
  (array_agg(s.project order by s.watch_id desc))[1], s.store,
  (array_agg(s.subject order by s.watch_id desc))[1], 'differs_in_case',
  format(
    '%s differ in case alone, which the stores do not tell apart, and each is measured: all but the first'
    ' cost %s a month. Keep one '
    'of them, and delete the others.', string_agg(format('"%s" (keyword_watch %s)', s.subject, s.watch_id),
      ', ' order by s.watch_id),
    dollars((sum(s.micros) - (array_agg(s.micros order by s.watch_id))[1])::bigint))
from spelling s
group by s.store, s.location_code, s.language_code, s.folded
having count(*) > 1
union all
select 'project', p.project_id, p.project, null, p.project, p.problem, p.message
from project_problem p
union all
select watch_table, watch_id, project, store, subject, problem, message from alert_problem;
comment on view watch_problem is
  'What keeps a watch from being measured or an alert from being told, one row per problem, with a '
  'sentence saying what to do.';
comment on column watch_problem.watch_table is
  'keyword_watch, chart_watch, app_watch, project, alert_channel or alert_rule.';
comment on column watch_problem.project is 'The project; null for a channel of alerts.';
comment on column watch_problem.store is
  'The store of the watch; null for a project, for a channel, and for a rule of both.';
comment on column watch_problem.subject is
  'The keyword, the collection, the id of the app, or the name of the project, channel or rule.';
comment on column watch_problem.problem is
  'project_disabled, references_missing, location_unknown, language_unknown, collection_unknown, '
  'category_unknown, followed_already, money, dearer_than_budget, last_slot_failed, differs_in_case, '
  'project_nearly_another, project_without_app, channel_settings, receiver_gone, delivery_failing, '
  'delivery_dead, recipient_refused, app_unknown or matches_nothing.';
