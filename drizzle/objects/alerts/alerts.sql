-- What is stored is noted for the rules of its projects in the same transaction, so that a crash of the
-- runner loses none and repeats none. One look at the rules for a batch of any size.
--- Notes what was stored for the rules of its projects: target, slot, and the gap or null of each row.
create or replace function note_alert_due(targets integer[], slots timestamptz[], gaps text[]) returns void
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if cardinality(targets) > 0 and exists (select from alert_rule r where r.enabled) then
    insert into alert_due (project_id, slot, target_ids)
    select j.id, s.slot, array_agg(s.target_id)
    from unnest(targets, slots, gaps) s (target_id, slot, gap)
    join watch_period p on p.target_id = s.target_id and {{shown p s}}
    join project j on j.name = p.project
    where exists (select from alert_rule r where r.project = p.project and r.enabled)
    group by 1, 2;
  end if;
end $$;

-- Open tasks are found by their index: a planner that takes them for many where there is none would read all
-- tasks for the first one.
create or replace function is_collecting(of_project text) returns boolean
language sql stable set enable_seqscan = off set enable_sort = off as $$
  select exists (
    select from (
      select target_id from reserving_task
      union all
      select target_id from task where attempt > 0 and state = 'posted'
      offset 0
    ) k
    where exists (
      select from watch_period p
      where p.target_id = k.target_id and p.project = of_project and p.ended_at is null
    )
  )
$$;

create or replace function note_snapshots() returns trigger {{as_owner}} as $$
begin
  perform note_alert_due(array_agg(s.target_id), array_agg(s.slot), array_agg(s.gap)) from fresh s;
  return null;
end $$;

-- The foreign keys would refuse these too, in words that say neither what to do nor what is near.
create or replace function find_named() returns trigger {{as_owner}} as $$
declare
  given jsonb := to_jsonb(new);
  unknown record;
begin
  select n.* into unknown
  from (values
    ('project', given ->> 'project',
      case when given ? 'project' then array(select p.name from project p order by 1) end,
      'A project is made by the first watch that names it.'),
    ('channel', coalesce(given ->> 'channel', given ->> 'digest_channel'),
      array(select c.name from alert_channel c order by 1), 'Insert it into alert_channel first, '
        || case tg_table_name when 'project' then 'with digest = daily, weekly or monthly.'
          else 'or leave channel out: then alert_history alone has what the rule finds.' end)
  ) n (what, name, names, hint)
  where n.name is not null and n.name <> all(n.names)
  limit 1;
  if found then
    raise foreign_key_violation using
      message = format('There is no %s %s.', unknown.what, shown_value(to_jsonb(unknown.name)))
        || coalesce(' Did you mean ' || nearest_name(unknown.name, unknown.names) || '?', ''),
      hint = unknown.hint, schema = 'public', table = tg_table_name,
      constraint = tg_table_name || '_' || unknown.what || '_known';
  end if;
  return new;
end $$;

-- A column is given where it differs from what it is when it is left out. best and base are of the kinds that
-- take base.
create or replace function refuse_unfit_rule() returns trigger {{as_owner}} as $$
declare
  kind record;
  refusal record;
  usual jsonb := '{"role": "own", "direction": "any", "compared_with": "1 day"}';
begin
  select * into kind from alert_kind k where k.name = new.kind;
  select * into refusal
  from (
    select 1 as place, 'kind_of_rule' as rule,
      format('There is no kind of rule %s.', shown_value(to_jsonb(new.kind)))
        || coalesce(' Did you mean ' || nearest_name(new.kind, array(select name from alert_kind)) || '?', '')
        as message,
      'It is ' || (select string_agg(name, ', ') from alert_kind) || '.' as hint
    where kind.name is null
    union all
    select 2, 'column_of_kind', format('%s is %s, which a rule of the kind %s does not take.', c.key,
        shown_value(c.value), kind.name),
      case when c.key = 'compared_with' and c.key = any(kind.takes)
        then 'Write 1 day, 7 days or 30 days.'
        else format('Take %s out. It takes %s.', c.key,
          coalesce(nullif(array_to_string(kind.takes, ', '), ''), 'none but those that every rule has')) end
    from jsonb_each(to_jsonb(new)) c
    where c.key in (select unnest(k.takes) from alert_kind k)
      and c.value <> coalesce(usual -> c.key, 'null')
      and case when new.compared_with in ('best', 'base') and c.key = 'compared_with' then 'base'
        else c.key end <> all(kind.takes)
    union all
    select 3, 'column_needed_by_kind', format('A rule of the kind %s needs %s.', kind.name, n.name),
      case n.name when 'threshold' then 'It counts ' || kind.threshold_counts || '.'
        else 'It is the N of "top N".' end
    from unnest(kind.needs) n (name)
    where to_jsonb(new) ->> n.name is null
    union all
    select 4, 'threshold_in_range_of_kind',
      format('threshold is %s, and a rule of the kind %s takes %s to %s.',
        shown_value(to_jsonb(new.threshold)), kind.name, kind.threshold_from::numeric,
        kind.threshold_to::numeric),
      'It counts ' || kind.threshold_counts || '.'
    where not new.threshold between kind.threshold_from and kind.threshold_to
  ) r
  order by place
  limit 1;
  if found then
    raise check_violation using message = refusal.message, hint = refusal.hint,
      detail = format('The row of alert_rule: %s, %s.',
        shown_value(to_jsonb(new.project)), shown_value(to_jsonb(new.name))),
      schema = 'public', table = 'alert_rule', constraint = 'alert_rule_' || refusal.rule;
  end if;
  return new;
end $$;

-- Messages outlive their channel, so that no event is taken for one that waits.
create or replace function end_channel() returns trigger {{as_owner}} as $$
declare
  rules bigint := (select count(*) from alert_rule r where r.channel = old.name);
begin
  if rules > 0 then
    raise foreign_key_violation using
      message = format('The channel %s is named by %s, and is not deleted.', shown_value(to_jsonb(old.name)),
        case rules when 1 then '1 rule' else rules || ' rules' end),
      hint = format('Silence it: update alert_channel set enabled = false where name = %1$L; '
        'or take it out of the rules first: '
        'update alert_rule set channel = null where channel = %1$L;', old.name),
      schema = 'public', table = 'alert_rule', constraint = 'alert_rule_channel_alert_channel_name_fk';
  end if;
  update alert_message m
  set state = 'dead', problem = 'The channel was deleted.', ended_at = clock_timestamp()
  where m.channel_id = old.id and m.state = 'pending';
  return old;
end $$;

-- Editors write channels, and not what was sent: by retry_from and tested_at they ask for it. What waits when
-- a channel is disabled becomes a message, as for its next digest: it is sent when it is enabled again. Also
-- where the same instant of retry_from is written again.
--- Has the messages of a channel that were given up since retry_from sent again, under their ids, and what
--- waits tried at once after a test; keeps what waits when it is disabled.
create or replace function tend_messages() returns trigger {{as_owner}} as $$
begin
  if tg_argv[0] = 'retry_from' then
    update alert_message m set state = default, attempts = default, problem = null, next_at = default,
      give_up_at = default, ended_at = null
    where m.channel_id = new.id and m.state = 'dead' and m.ended_at >= new.retry_from;
  elsif tg_argv[0] = 'tested_at' then
    update alert_message m set next_at = clock_timestamp()
    where m.channel_id = new.id and m.state = 'pending';
  else
    with message as (
      insert into alert_message (channel_id, project_id)
      select new.id, p.id from project p
      where exists (
        select from alert_rule r join alert_event e on e.rule_id = r.id
        where r.project = p.name and r.channel = new.name and e.message_id is null and e.held_back is null)
      returning id, project_id
    )
    update alert_event e set message_id = m.id
    from alert_rule r join project p on p.name = r.project join message m on m.project_id = p.id
    where r.id = e.rule_id and r.channel = new.name and e.message_id is null and e.held_back is null;
  end if;
  return null;
end $$;
