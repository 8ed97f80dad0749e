-- A full disk refuses writing and nothing else, so that reading alone never notices. A megabyte of rows goes
-- to a temporary file, which needs no right, leaves nothing behind, and takes 10 ms.
--- Why the database server cannot write, such as a full disk; null while it can.
create or replace function disk_full_reason() returns text language plpgsql stable set work_mem = '64kB' as $$
begin
  perform count(*) from generate_series(1, 100000);
  return null;
exception when insufficient_resources then
  return sqlerrm;
end $$;
