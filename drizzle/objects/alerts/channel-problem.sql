--- What keeps a channel of alerts from being told anything: part of alert_problem.
create or replace view channel_problem as
select c.id, c.name, c.problem_kind as problem,
  case c.problem_kind when 'channel_settings' then c.problem else format(
    'The channel "%s" was disabled. %s Correct %s and enable the channel, which sends what waits: '
    'update alert_channel set enabled = true where name = %L; or take it out of the rules: '
    'update alert_rule set channel = null where channel = %4$L.', c.name, c.problem,
    coalesce('the URL in ' || case when c.kind in ('slack', 'teams', 'discord') then c.secret_variable end,
      'its address'), c.name)
  end as message
from alert_channel c
where c.problem is not null and case c.problem_kind when 'channel_settings' then c.enabled
  else not c.enabled and (exists (select from alert_rule r where r.channel = c.name and r.enabled)
    or exists (select from project p where p.digest_channel = c.name and p.enabled)) end
union all
select c.id, c.name, p.problem, p.message
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
    rtrim(w.problem, '.'), utc_minute(w.next_at), utc_minute(w.give_up_at), quote_ident(c.name))),
  ('delivery_dead', d.messages > 0, format(
    '%s of the channel "%s" could not be delivered within 3 days and %s given up, the last time because: '
    '%s. The events are in alert_history. Mend the channel, try it with storerank alerts test %s, and '
    'send %s again with storerank alerts retry %5$s.',
    case d.messages when 1 then '1 message' else d.messages || ' messages' end, c.name,
    case d.messages when 1 then 'was' else 'were' end,
    rtrim(coalesce(d.problem, 'no reason is known'), '.'), quote_ident(c.name),
    case d.messages when 1 then 'it' else 'them' end)),
  ('digest_without_time', c.digest = 'instant' and exists (
    select from project j where j.digest_channel = c.name and j.enabled
  ), format(
    'Digests of a project are to go to the channel "%s", which tells all at once. Say when: '
    'update alert_channel set digest = ''weekly'' where name = %L.', c.name, c.name)),
  ('recipient_refused', d.refused is not null,
    format('The channel "%s": %s The others have it; correct its address.', c.name, d.refused))
) p (problem, is_so, message)
where c.enabled and p.is_so;
