--- The kinds of rules of alerts: what alert_rule.kind may be.
create or replace view alert_kind as
select k.name, k.tells, k.takes::text[] as takes, k.needs::text[] as needs, k.threshold_counts,
  k.threshold_from::double precision as threshold_from, k.threshold_to::double precision as threshold_to
from (values
  -- <!-- kinds: written by `npm run docs` -->
  ('rank_moved', 'an app that moved by so many places on a keyword or chart',
    '{threshold,store,app_id,role,keyword,tag,direction,threshold_11_to_30,threshold_beyond,'
    'compared_with,base,window_days}',
    '{threshold}', 'places, where the better of the two ranks is 1 to 10', 1, 1000),
  ('top_crossed', 'an app that came into the top N (`up`) or left it (`down`)',
    '{store,app_id,role,keyword,tag,direction,top,compared_with}', '{top}', null, null, null),
  ('overtaken', 'a competitor that stood behind an own app, and stands before it now',
    '{store,app_id,keyword,tag,top,compared_with}', '{}', null, null, null),
  ('not_measured', 'a keyword or chart without a measurement', '{threshold,store,keyword,tag}',
    '{threshold}', 'days', 1, 366),
  ('visibility_moved', 'the visibility of an app, by the curve `reciprocal`',
    '{threshold,store,app_id,role,keyword,tag,direction,compared_with}', '{threshold}',
    'percent of what it was: 10 is a fall from 40 to 36', 0.0001, 1000000),
  ('share_of_voice_moved', 'its share of the places of everybody',
    '{threshold,store,app_id,role,keyword,tag,direction,compared_with}', '{threshold}',
    'percent of what it was', 0.0001, 1000000),
  ('top_count_moved', 'on how many keywords an app is in the top N',
    '{threshold,store,app_id,role,keyword,tag,direction,compared_with,top}', '{threshold,top}', 'keywords',
    0.0001, 1000000),
  ('new_app', 'an app that the project does not watch, and that came into the top N of so many keywords',
    '{threshold,store,keyword,tag,top,compared_with}', '{threshold,top}', 'keywords', 0.0001, 1000000),
  ('market_moved', 'everybody that moved so far, or own apps alone (`market_moves`)',
    '{threshold,store,tag}', '{threshold}', 'times as far as usual', 1.1, 1000),
  ('rating_below', 'the rating on an app’s page', '{threshold,store,app_id,role}', '{threshold}', 'stars',
    1, 5),
  ('rating_dropped', 'the rating against a day before', '{threshold,store,app_id,role,compared_with}',
    '{threshold}', 'stars', 0.01, 4),
  ('review_low', 'a new review of an app whose reviews are followed', '{threshold,store,app_id,role}',
    '{threshold}', 'at most so many stars', 1, 5),
  ('listing_changed', 'title, texts, version, price and so on of a page that is followed',
    '{store,app_id,role}', '{}', null, null, null),
  ('budget_used', 'a budget of the project, or of all projects', '{threshold}', '{threshold}', 'percent',
    0.0001, 1000000),
  ('balance_low', 'the balance of the account, by what the last 7 days cost', '{threshold}', '{threshold}',
    'days that it lasts', 0.0001, 1000000),
  ('job_late', 'a job of ours that does not succeed', '{threshold}', '{threshold}',
    'hours since the first run that it owes', 0.0001, 1000000),
  ('outage', 'a major outage that the service reports, and its end', '{}', '{}', null, null, null)
  -- <!-- /kinds -->
) k (name, tells, takes, needs, threshold_counts, threshold_from, threshold_to);
