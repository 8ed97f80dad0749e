-- Names are looked up per event by keys: events are few beside what they are about.
--- What the rules of alerts found, and what became of it: one row per event.
--- .kind: The kind of the rule at the time.
--- .slot: The slot, or the beginning of the day or period, that it is of.
--- .app: What the project calls the app, else its title or id.
--- .state: waiting (for its message), pending, delivered, dead (given up), empty, cooldown, channel or
--- beginning (held back).
create or replace view alert_history as
select r.project, r.name as rule, e.kind, e.severity, e.slot,
  (e.slot at time zone j.timezone)::date as day, coalesce(t.store, a.store) as store,
  case t.function when 'app_searches' then 'keyword' when 'app_list' then 'chart' end as list, {{subject t}},
  {{place t l}}, a.app_id, coalesce(named.label, a.title, a.app_id) as app, v.app_id as rival_id,
  coalesce(rival.label, v.title, v.app_id) as rival, e.before, e.after,
  nullif(e.compared_slot, '-infinity') as compared_slot, measured.depth, past.depth as depth_before,
  case when measured.is_measured then t.check_url end as check_url, e.detail, e.found_at,
  coalesce(e.held_back, m.state, 'waiting') as state,
  case m.state when 'delivered' then m.ended_at end as delivered_at,
  r.channel, e.message_id, e.id as event_id, e.rule_id
from alert_event e
join alert_rule r on r.id = e.rule_id
join project j on j.name = r.project
left join target t on t.id = e.target_id
left join location l on l.store = t.store and l.code = t.location_code
left join app a on a.id = e.app
left join app v on v.id = e.rival
left join alert_message m on m.id = e.message_id
left join lateral (
  select p.label from watch_period p
  where p.label is not null and p.kind = 'app' and p.project = r.project and p.app = e.app
  order by p.id desc limit 1
) named on true
left join lateral (
  select p.label from watch_period p
  where p.label is not null and p.kind = 'app' and p.project = r.project and p.app = e.rival
  order by p.id desc limit 1
) rival on true
left join lateral (
  select h.depth, h.gap is null as is_measured from ranking_row h
  where h.target_id = e.target_id and h.slot = e.slot
  union all
  select null, s.gap is null from app_snapshot s where s.target_id = e.target_id and s.slot = e.slot
  limit 1
) measured on true
left join lateral (
  select h.depth from ranking_row h where h.target_id = e.target_id and h.slot = e.compared_slot limit 1
) past on true;
