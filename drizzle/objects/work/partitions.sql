-- A partition is made apart and then attached: `create table … partition of` would lock the parent against
-- every reader.
create or replace function ensure_history_partitions(from_slot timestamptz,
  to_slot timestamptz) returns integer
language plpgsql as $$
declare
  parent text;
  part text;
  first timestamptz;
  made integer := 0;
begin
  for first in
    select m at time zone 'UTC' from generate_series(
      date_trunc('month', from_slot at time zone 'UTC'), date_trunc('month', to_slot at time zone 'UTC'),
        '1 month') m
  loop
    foreach parent in array array['ranking', 'app_snapshot', 'page'] loop
      part := parent || '_' || to_char(first at time zone 'UTC', 'YYYYMM');
      continue when to_regclass(part) is not null;
      perform wait_for_lock('partitions');
      -- Not to_regclass again: it remembers what it did not find, and waiting does not remind it.
      continue when exists (
        select from pg_class c where c.relname = part and c.relnamespace = (
          select p.relnamespace from pg_class p where p.oid = parent::regclass)
      );
      execute format('create table %I (like %I including defaults including constraints including storage)',
        part, parent);
      execute format('alter table %I attach partition %I for values from (%L) to (%L)', parent, part,
        first, (first at time zone 'UTC' + interval '1 month') at time zone 'UTC');
      made := made + 1;
    end loop;
  end loop;
  return made;
end $$;
