-- After a dump, COPY or replication another transaction wrote the row; a copy by a template has another oid.
--- Whether this database is a copy of the one that bought, and nobody has said yet which of them goes on.
create or replace function is_copy() returns boolean language sql stable as $$
  select exists (
    select from restore_check c where (c.database, c.written_by) is distinct from
      ((select d.oid::bigint from pg_database d where d.datname = current_database()), c.xmin::text))
$$;

--- Why nothing may be posted, as a sentence, while another database may have bought the same; else null.
create or replace function restore_hold() returns text language sql stable security definer
  set search_path = public, pg_temp as $$
  select case
    when is_lock_held('job recover') then
      '`storerank recover` is at work on this database. Nothing is posted until it has ended, so that '
      'nothing is paid for twice; then runners of `start` go on by themselves.'
    when l.hold_reason is null and is_copy() then format(
      'This database is a copy of the one that has bought as %s: it was restored, cloned or moved to another '
      'server. Nothing is posted, so that nothing is paid for twice. If it takes the place of that one, stop '
      'that one and run `storerank recover`; if both go on, run `storerank recover --apart` here.',
      l.installation)
    else coalesce(l.hold_reason,
      'The service lists tasks of this database that its ledger does not know: it was restored from an older '
      'copy, or another copy of it is at work. Nothing is posted, so that nothing is paid for twice. Stop '
      'every other copy, then run `storerank recover`.')
  end
  from ledger l where l.recover_from is not null or is_copy()
$$;
