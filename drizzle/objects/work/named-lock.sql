-- Locks by name. Each is a row of `named_lock`, to which readers and editors have no right.

--- Waits until no other transaction holds the lock of this name, and holds it to the end of the transaction.
create or replace function wait_for_lock(of_name text) returns void language plpgsql volatile as $$
begin
  insert into named_lock (name) values (of_name) on conflict do nothing;
  perform from named_lock where name = of_name for update;
end $$;

-- Until the end of the session, and no transaction stays open for it, which would keep vacuum from its work.
-- What shows that the holder lives is an advisory lock on a number that it has drawn itself: the server frees
-- it when the session ends, and a pooler when the client does. Whoever else asks for that number has another
-- process id.
create or replace function is_lock_held(of_name text) returns boolean language sql stable as $$
  select exists (
    select from named_lock n join pg_locks l
      on l.locktype = 'advisory' and l.objsubid = 1 and l.granted and l.pid = n.pid
        and (l.classid::bigint << 32 | l.objid::bigint) = n.key
        and l.database = (select d.oid from pg_database d where d.datname = current_database())
    where n.name = of_name
  )
$$;

--- Holds the lock of this name until the session ends; false when another session has it.
create or replace function hold_lock(of_name text) returns boolean language plpgsql volatile as $$
declare
  drawn bigint := floor(random() * 2 ^ 62);
begin
  perform wait_for_lock(of_name);
  if is_lock_held(of_name) or not pg_try_advisory_lock(drawn) then
    return false;
  end if;
  update named_lock set pid = pg_backend_pid(), key = drawn, taken_at = clock_timestamp()
    where name = of_name;
  return true;
end $$;
