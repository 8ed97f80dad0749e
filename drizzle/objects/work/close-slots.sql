-- Writes the gap of a failed task in the transaction that fails it, whichever statement that is.
create or replace function close_failed_task() returns trigger language plpgsql as $$
declare
  of_function text := (select t.function from target t where t.id = new.target_id);
begin
  -- A search in listings has no history.
  if of_function = 'app_listings' then
    return null;
  end if;
  perform ensure_history_partitions(new.slot, new.slot);
  if of_function in ('app_info', 'app_reviews') then
    insert into app_snapshot (target_id, slot, gap, reason)
      values (new.target_id, new.slot, 'failed', new.problem)
    on conflict (target_id, slot) do nothing;
  else
    perform store_gaps(array[new.target_id], array[new.slot], array['failed'], array[new.problem]);
  end if;
  return null;
end $$;
