-- A database in use, at 2026-03-11 13:00 UTC: watches of every kind, their history, money, and what went
-- wrong.
set storerank.now = '2026-03-10 13:00+00';
insert into language (store, code, name) values ('ios_store', 'en', 'English'),
  ('android_store', 'en', 'English');
insert into project (name, timezone, daily_usd) values ('fitness', 'Europe/Berlin', 5),
  ('asleep', 'UTC', null);
insert into keyword_watch (project, store, keyword, location_code, language_code, tags) values
  ('fitness', 'ios_store', 'yoga', 2840, 'en', '{health}'),
  ('fitness', 'android_store', 'calm', 2840, 'en', '{}'),
  ('asleep', 'ios_store', 'yoga', 2840, 'en', '{}'),
  ('fitnes', 'ios_store', 'yoga', 2840, 'en', '{}');
insert into keyword_watch (project, store, keyword, location_name, language_code) values
  ('fitness', 'ios_store', 'zen', 'Nowhere', 'en');
insert into keyword_watch (project, store, keyword, location_code, language_code) values
  ('fitness', 'ios_store', 'Yoga', 2840, 'en');
-- As two do that write spellings of one keyword at once: neither sees the other's.
insert into watch_period (kind, watch_id, project, target_id, every, depth, priority, started_at, first_slot)
select 'keyword', k.id, k.project, target_of(k.store, 'app_searches', k.keyword, 2840, 'en'), k.every, k.depth,
  k.priority, storerank_now(), slot_of(k.every, storerank_now())
from keyword_watch k where k.keyword = 'Yoga';
insert into location (store, code, name) values ('ios_store', 2840, 'United States'),
  ('android_store', 2840, 'United States');
insert into keyword_watch (project, store, keyword, location_name, language_code) values
  ('fitness', 'ios_store', 'yoga', 'United States', 'en');
insert into app_watch (project, store, app_id, role, info, reviews, location_code, language_code) values
  ('fitness', 'ios_store', '1001', 'own', true, true, 2840, 'en'),
  ('fitness', 'ios_store', '1002', 'competitor', false, false, null, null);
insert into app_watch (project, store, app_id, reviews, location_code, language_code) values
  ('fitness', 'android_store', 'com.acme.yoga', true, 2840, 'en');
insert into chart_watch (project, collection, location_code, language_code) values
  ('fitness', 'topselling_free', 2840, 'en');
insert into chart_watch (project, store, collection, category, age_rating, depth, location_code,
  language_code) values
  ('fitness', 'ios_store', 'top_free_ios', null, null, 1000, 2840, 'en'),
  ('fitness', 'android_store', 'topgrossing', 'family', 'ages_6_8', 200, 2840, 'en');
update project set enabled = false where name = 'asleep';
update app set title = 'Yoga ' || app_id where store = 'ios_store';

select ensure_history_partitions('2026-03-01', '2026-03-31');
insert into ranking (target_id, slot, captured_at, depth, results_count, app_ids, absolute)
select id, '2026-03-10', '2026-03-10 00:05+00', 100, 2, array(select a.id from app a order by a.id), '{1,3}'
from target where function = 'app_searches' and subject = 'yoga';
insert into ranking (target_id, slot, gap, reason)
select id, '2026-03-10', 'budget', null from target where subject = 'calm';
insert into ranking (target_id, slot, captured_at, depth, app_ids)
select id, '2026-03-10', '2026-03-10 00:05+00', 1000, array(select a.id from app a where a.store = 'ios_store'
  order by a.id)
from target where subject = 'top_free_ios';
insert into listing (hash, title, description, details) values
  ('\x01', 'Yoga', 'Breathe in.', '{"subtitle": "Every day"}'),
    ('\x02', 'Yoga', 'Breathe out.', '{"subtitle": "Every morning"}');
insert into app_snapshot (target_id, slot, captured_at, app, found, rating, version, price_micros, currency,
  listing_hash)
select t.id, slot, slot, a.id, true, 4.5, version, 0, 'USD', hash
from target t, app a, (values
  (timestamptz '2026-03-10 00:00+00', '1.0', '\x01'::bytea), ('2026-03-11 00:00+00', '1.1', '\x02')) v (slot,
    version, hash)
where t.function = 'app_info' and a.app_id = '1001';
insert into page (target_id, slot, number, html_gzip) select id, '2026-03-10', 1, '\x00' from target
  where subject = 'calm';
insert into review (app, review_id, location_code, language_code, rating, title, text, first_seen_at,
  last_seen_at)
select id, 'r1', 2840, 'en', 5, 'Good', 'Very good.', '2026-03-10', '2026-03-10' from app
  where app_id = '1001';
insert into review (app, review_id, location_code, language_code, rating, text, helpful_count, responses,
  first_seen_at, last_seen_at)
select id, 'r2', 2840, 'en', 2, 'It stops.', 3,
  '[{"author": "Acme", "title": null, "text": "Mended.", "timestamp": "2026-03-10T09:00:00.000Z"}]',
  '2026-03-10', '2026-03-10' from app where app_id = 'com.acme.yoga';
-- A search in listings.
insert into target (store, function, subject, location_code, language_code)
  values ('ios_store', 'app_listings', 'title=yoga', 0, '');

insert into post (id, store, function, state, send_before, answer_before, problem) values
  ('00000000-0000-7000-8000-000000000001', 'ios_store', 'app_searches', 'unknown', '2026-03-11 00:01+00',
    '2026-03-11 00:02+00', 'No answer came.'),
  ('00000000-0000-7000-8000-000000000002', 'ios_store', 'app_info', 'settled', '2026-03-11 00:01+00',
    '2026-03-11 00:02+00', null);
insert into task (id, target_id, slot, slot_ends_at, state, priority, estimate_micros, payers, post_id,
  service_id, posted_at, ended_at, problem)
select ('00000000-0000-7000-8001-00000000000' || n)::uuid, t.id, '2026-03-11', '2026-03-12', state, 1, 1200,
  array(select id from project where name = 'fitness'), post, service_id,
  '2026-03-11 00:01+00', ended_at, problem
from (values
  (1, 'app_searches', 'yoga', 'posting', uuid '00000000-0000-7000-8000-000000000001', null, null::timestamptz,
    null),
  (2, 'app_info', '1001', 'collected', '00000000-0000-7000-8000-000000000002', 's-2', '2026-03-11 00:05+00',
    null),
  (3, 'app_list', 'topselling_free', 'failed', null, 's-3', '2026-03-11 00:06+00', 'The service gave up.'),
  (4, 'app_listings', 'title=yoga', 'collected', null, 's-4', '2026-03-11 00:07+00', null)
) v (n, function, subject, state, post, service_id, ended_at, problem)
join target t on t.function = v.function and t.subject = v.subject;
insert into charge (kind, at, project_id, amount_micros, target_id, slot, service_id)
select c.kind, '2026-03-11 00:01+00', k.payers[1], c.micros, k.target_id, k.slot, k.service_id
from task k
join (values
  ('collected', 'charge', 1200), ('collected', 'refund', -600), ('failed', 'charge', 1200),
    ('failed', 'adjustment', 300), ('failed', 'duplicate', 1200)
) c (state, kind, micros) on c.state = k.state;
select recount_spend();
insert into due_slot (target_id, slot, ends_at, priority, captured_at, askers, cut, price_micros)
select id, '2026-03-11', '2026-03-12', 1, '-infinity', 1, 'project_budget', 600 from target
  where subject = 'calm';
insert into audit_difference (service_id, kind, posted_at, path, task_id, service_micros, our_micros) values
  ('s-3', 'cost', '2026-03-11 00:01+00', '/v3/app_data/google/app_list/task_post',
    '00000000-0000-7000-8001-000000000003', 1500, 1200);
insert into account_usage (login, balance_micros, prices) values ('me', 100000000, '[]');
insert into job_run (job, slot, state, runner, started_at, ended_at)
values ('audit', '2026-03-11 00:45+00', 'done', 'runner', '2026-03-11 00:45+00', '2026-03-11 00:46+00');
insert into service_status (api, endpoint, status, since, checked_at)
  values ('app_data', '', 'ok', '2026-03-10', '2026-03-11');
-- Of the past hour by the clock of the server: call_minute shows no other.
insert into api_call (id, kind, path, runner, permit_at, deadline_at, ended_at, http_status)
select 1, 'task_post', '/v3/app_data/google/app_searches/task_post', 'runner', at, at + interval '1 minute',
  at, 200
from (select clock_timestamp() - interval '10 minutes' as at) call;
insert into alert_channel (name, kind, address, problem_kind, problem)
  values ('team', 'email', 'team@example.com', 'channel_settings', 'It is gone.');
insert into alert_rule (project, name, kind, threshold, keyword, channel) values
  ('fitness', 'moved', 'rank_moved', 3, 'yoga', 'team'),
    ('fitness', 'nothing of it', 'rank_moved', 3, 'no such keyword', 'team');
insert into alert_event (rule_id, subject, slot, compared_slot, kind, severity, target_id, app, before, after)
select r.id, 'yoga 1001', '2026-03-10', '2026-03-09', r.kind, r.severity, t.id, a.id, 9, 3
from alert_rule r, target t, app a where r.name = 'moved' and t.subject = 'yoga' and a.app_id = '1001';
insert into app_numbers (location_code, day, block, apps, votes, ratings, price_micros, currency)
  select 2840, '2026-03-10', id / 32768, array[id % 32768], '{120}', '{450}', '{990000}', 'USD' from app
  where app_id = '1001';
update ranking r set paid_ids = array[a.id], paid_places = '{1}' from app a
  where a.app_id = '1001' and r.gap is null;
update app set former_developers = '[{"developer": "Before", "until": "2026-03-01"}]' where app_id = '1001';
insert into imported_rank (project, target_id, app, day, source, rank)
select 'fitness', t.id, a.id, '2026-02-01', 'tool', 12 from target t, app a
  where t.subject = 'yoga' and a.app_id = '1001';
reset storerank.now;
