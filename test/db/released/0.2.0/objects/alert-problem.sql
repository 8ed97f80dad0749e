create or replace view alert_problem as
select 'alert_channel' as watch_table, c.id as watch_id, null::text as project, null::text as store, c.name as subject,
  p.kind as problem, case p.kind when 'channel_settings' then p.problem else format(
    'The channel "%s" was disabled. %s Correct %s and enable the channel, which sends what waits: update alert_channel set enabled = true where '
    'name = %L; or take it out of the rules: update alert_rule set channel = null where channel = %4$L.',
    c.name, p.problem, coalesce('the URL in ' || case c.kind when 'slack' then c.secret_variable end, 'its address'), c.name) end as message
from alert_channel_problem p
join alert_channel c on c.id = p.channel_id
where case p.kind when 'channel_settings' then c.enabled
  else not c.enabled and exists (select from alert_rule r where r.channel = c.name and r.enabled) end
union all
select 'alert_channel', c.id, null, null, c.name, 'delivery_failing', format(
  '%s for the channel "%s". The last attempt failed: %s. It is tried next at %s, and given up after %s: mend the receiver or the address, '
  'and try it: storerank alerts test %s.',
  case m.messages when 1 then '1 message waits' else m.messages || ' messages wait' end, c.name, rtrim(m.problem, '.'),
  to_char(m.next_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI "UTC"'), to_char(m.give_up_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI "UTC"'),
  quote_ident(c.name))
from alert_channel c
join lateral (
  select count(*) as messages, (array_agg(w.next_at order by w.created_at, w.id))[1] as next_at,
    (array_agg(w.give_up_at order by w.created_at, w.id))[1] as give_up_at,
    (array_agg(w.problem order by w.created_at, w.id) filter (where w.problem is not null))[1] as problem
  from alert_message w where w.channel_id = c.id and w.state = 'pending'
) m on m.problem is not null
where c.enabled
union all
select 'alert_channel', c.id, null, null, c.name, 'delivery_dead', format(
  '%s of the channel "%s" could not be delivered within 3 days and %s given up, the last time because: %s. The events are in '
  'alert_history. Mend the channel, try it with storerank alerts test %s, and send %s again with storerank alerts retry %5$s.',
  case m.messages when 1 then '1 message' else m.messages || ' messages' end, c.name, case m.messages when 1 then 'was' else 'were' end,
  rtrim(m.problem, '.'), quote_ident(c.name), case m.messages when 1 then 'it' else 'them' end)
from alert_channel c
join lateral (
  select count(*) as messages, coalesce((array_agg(w.problem order by w.ended_at desc))[1], 'no reason is known') as problem
  from alert_message w
  where w.channel_id = c.id and w.state = 'dead' and w.ended_at > (select clock_timestamp() - interval '7 days')
    and (c.tested_at is null or w.ended_at > c.tested_at)
    and not exists (
      select from alert_message later
      where later.channel_id = c.id and later.state = 'delivered' and later.ended_at > w.ended_at
    )
) m on m.messages > 0
where c.enabled
union all
select 'alert_channel', c.id, null, null, c.name, 'recipient_refused', format(
  'The channel "%s": %s The others have it; correct its address.', c.name, m.problem)
from alert_channel c
join lateral (
  select w.problem from alert_message w
  where w.channel_id = c.id and w.state = 'delivered' and w.ended_at > (select clock_timestamp() - interval '7 days')
    and (c.tested_at is null or w.ended_at > c.tested_at)
  order by w.ended_at desc limit 1
) m on m.problem is not null
where c.enabled
union all
select 'alert_rule', r.id, r.project, r.store, r.name, 'app_unknown', format(
  'The project "%s" does not watch the app %s: correct app_id of the rule "%s", or insert the app into app_watch.',
  r.project, r.app_id, r.name)
from alert_rule r
where r.enabled and r.app_id is not null and not exists (
  select from watch_period p join app a on a.id = p.app
  where p.kind = 'app' and p.project = r.project and p.ended_at is null and a.app_id = r.app_id
)
union all
select 'alert_rule', r.id, r.project, r.store, r.name, 'matches_nothing', format(
  'No keyword or chart that the project "%s" follows now is meant by the rule "%s": correct its %s.', r.project, r.name,
  concat_ws(' and ', case when r.keyword is not null then 'keyword' end, case when r.tag is not null then 'tag' end))
from alert_rule r
where r.enabled and num_nonnulls(r.keyword, r.tag) > 0 and not exists (
  select from watch_period p
  join target t on t.id = p.target_id
  left join keyword_watch k on p.kind = 'keyword' and k.id = p.watch_id
  left join chart_watch c on p.kind = 'chart' and c.id = p.watch_id
  where p.project = r.project and p.kind in ('keyword', 'chart') and p.ended_at is null
    and (r.store is null or t.store = r.store)
    and (r.keyword is null or (t.subject = r.keyword and t.function = 'app_searches'))
    and (r.tag is null or r.tag = any(coalesce(k.tags, c.tags)))
);
comment on view alert_problem is
  'What keeps alerts from being found or told, one row per problem, with a sentence saying what to do. Part of watch_problem.';
comment on column alert_problem.watch_table is 'alert_channel or alert_rule.';
comment on column alert_problem.watch_id is 'The id of the row in that table.';
comment on column alert_problem.project is 'The project of a rule.';
comment on column alert_problem.store is 'The store of a rule.';
comment on column alert_problem.subject is 'The name of the channel or rule.';
comment on column alert_problem.problem is 'channel_settings, receiver_gone, delivery_failing, delivery_dead, recipient_refused, app_unknown or matches_nothing.';
comment on column alert_problem.message is 'What is wrong, and what to do, as a sentence.';
grant select on alert_problem to storerank_editor, storerank_reader;
