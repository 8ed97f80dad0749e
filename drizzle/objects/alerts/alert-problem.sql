create or replace view alert_problem as
with channel as (
  select c.id, c.name, case c.problem_kind when 'channel_settings' then c.enabled else not c.enabled and exists (
      select from alert_rule r where r.channel = c.name and r.enabled
    ) end as is_so,
    c.problem_kind as problem, case c.problem_kind when 'channel_settings' then c.problem else format(
      'The channel "%s" was disabled. %s Correct %s and enable the channel, which sends what waits: '
      'update alert_channel set enabled = true where name = %L; or take it out of the rules: '
      'update alert_rule set channel = null where channel = %4$L.', c.name, c.problem,
      coalesce('the URL in ' || case c.kind when 'slack' then c.secret_variable end, 'its address'), c.name)
    end as message
  from alert_channel c where c.problem is not null
  union all
  select c.id, c.name, c.enabled and p.is_so, p.problem, p.message
  from alert_channel c
  cross join lateral (
    select count(*) as messages, (array_agg(w.next_at order by w.created_at, w.id))[1] as next_at,
      (array_agg(w.give_up_at order by w.created_at, w.id))[1] as give_up_at,
      (array_agg(w.problem order by w.created_at, w.id) filter (where w.problem is not null))[1] as problem
    from alert_message w where w.channel_id = c.id and w.state = 'pending'
  ) w
  cross join lateral (
    select count(*) filter (where e.is_dead) as messages,
      (array_agg(e.problem order by e.ended_at desc) filter (where e.is_dead))[1] as problem,
      (array_agg(e.problem order by e.ended_at desc) filter (where e.state = 'delivered'))[1] as refused
    from (
      select m.state, m.problem, m.ended_at, m.state = 'dead' and m.ended_at
        > coalesce(max(m.ended_at) filter (where m.state = 'delivered') over (), '-infinity') as is_dead
      from alert_message m
      where m.channel_id = c.id and m.state <> 'pending'
        and m.ended_at > (select clock_timestamp() - interval '7 days')
    ) e
    where e.ended_at > coalesce(c.tested_at, '-infinity')
  ) d
  cross join lateral (values
    ('delivery_failing', w.problem is not null, format(
      '%s for the channel "%s". The last attempt failed: %s. It is tried next at %s, and given up after %s: '
      'mend the receiver or the address, and try it: storerank alerts test %s.',
      case w.messages when 1 then '1 message waits' else w.messages || ' messages wait' end, c.name,
      rtrim(w.problem, '.'), to_char(w.next_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI "UTC"'),
      to_char(w.give_up_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI "UTC"'), quote_ident(c.name))),
    ('delivery_dead', d.messages > 0, format(
      '%s of the channel "%s" could not be delivered within 3 days and %s given up, the last time because: '
      '%s. The events are in alert_history. Mend the channel, try it with storerank alerts test %s, and'
      ' send %s '
      'again with storerank alerts retry %5$s.',
      case d.messages when 1 then '1 message' else d.messages || ' messages' end, c.name,
      case d.messages when 1 then 'was' else 'were' end,
      rtrim(coalesce(d.problem, 'no reason is known'), '.'), quote_ident(c.name),
      case d.messages when 1 then 'it' else 'them' end)),
    ('recipient_refused', d.refused is not null,
      format('The channel "%s": %s The others have it; correct its address.', c.name, d.refused))
  ) p (problem, is_so, message)
)
select 'alert_channel' as watch_table, c.id as watch_id, null::text as project, null::text as store,
  c.name as subject, c.problem, c.message
from channel c
where c.is_so
union all
select 'alert_rule', r.id, r.project, r.store, r.name, p.problem, p.message
from alert_rule r
cross join lateral (
  select 'app_unknown' as problem, format('The project "%s" does not watch the app %s: correct app_id of the '
    'rule "%s", or insert the app into app_watch.', r.project, r.app_id, r.name) as message
  where r.app_id is not null and not exists (
    select from watch_period p join app a on a.id = p.app
    where p.kind = 'app' and p.project = r.project and p.ended_at is null and a.app_id = r.app_id
  )
  union all
  select 'matches_nothing', format('No keyword or chart that the project "%s" follows now is meant by the '
    'rule "%s": correct its %s.', r.project, r.name,
    concat_ws(' and ', case when r.keyword is not null then 'keyword' end,
      case when r.tag is not null then 'tag' end))
  where num_nonnulls(r.keyword, r.tag) > 0 and not exists (
    select from watch_period p
    join target t on t.id = p.target_id
    left join keyword_watch k on p.kind = 'keyword' and k.id = p.watch_id
    left join chart_watch c on p.kind = 'chart' and c.id = p.watch_id
    where p.project = r.project and p.kind in ('keyword', 'chart') and p.ended_at is null
      and (r.store is null or t.store = r.store)
      and (r.keyword is null or (t.subject = r.keyword and t.function = 'app_searches'))
      and (r.tag is null or r.tag = any(coalesce(k.tags, c.tags)))
  )
) p
where r.enabled;
comment on view alert_problem is
  'What keeps alerts from being found or told, one row per problem, with a sentence saying what to do. Part '
  'of watch_problem.';
comment on column alert_problem.watch_table is 'alert_channel or alert_rule.';
comment on column alert_problem.subject is 'The name of the channel or rule.';
comment on column alert_problem.problem is
  'channel_settings, receiver_gone, delivery_failing, delivery_dead, recipient_refused, app_unknown or '
  'matches_nothing.';
