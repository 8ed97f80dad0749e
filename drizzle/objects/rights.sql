-- What people may do. `public` is everybody who may log in: what is not revoked here is for all who read the
-- views. The roles may be missing: then the grants are left out, and the revokes are not. Every view is for
-- both roles, without a word here. A channel's address may hold a secret, so that readers do not see it.
revoke execute on routine
  asked_parts, begin_money_zone, call_wait, calls_allowed, calls_in_flight, clock_ahead, close_failed_task,
  delete_project, delete_rankings, disk_full_reason, end_calls, end_channel, end_periods,
  ensure_history_partitions, find_named, first_unopened_slot, fold_spend, follow_watches, forecast_lines,
  hold_lock, is_collecting, is_copy, is_followed, is_lock_held, keep_open_periods, keep_periods,
  keep_project_periods, keep_projects, keyword_target, keyword_targets, low_balance, note_alert_due,
  note_snapshots, prepare_row, recount_spend, refuse_project_with_history, refuse_unfit_rule, refuse_unknown,
  rename_project, restore_hold, set_default_depth, start_missing_watch_periods, start_periods,
  stop_all_periods, store_gaps, store_rankings, take_call_permits, target_of, tend_messages, unknown_category,
  unknown_language, unknown_location, wait_for_lock, wait_of_call
from public;

grant usage on schema public to storerank_editor, storerank_reader;
grant execute on function
  chart_collections, clock_ahead, country_names, disk_full_reason, forecast_lines, low_balance, restore_hold,
  unknown_category, unknown_collection, unknown_language, unknown_location
to storerank_editor, storerank_reader;
grant select on project, location, rank_weight, annotation, imported_rank, alert_rule, money_zone
to storerank_reader;
grant select on location, language, category, app, alert_message, money_zone to storerank_editor;
grant select, insert, update, delete on
  keyword_watch, app_watch, chart_watch, rank_weight, annotation, imported_rank, alert_rule, alert_channel
to storerank_editor;
-- Not how long the history is kept: that deletes what was paid for.
grant select, delete, insert (name, timezone, daily_usd, monthly_usd, enabled, digest_channel, created_at),
  update (name, timezone, daily_usd, monthly_usd, enabled, digest_channel, created_at)
  on project to storerank_editor;
