create or replace function explain_status(of_code integer, said text) returns text
language sql immutable parallel safe
return format('%s: %s', of_code, coalesce(nullif(btrim(said), ''),
  'The service gave no reason; `storerank api appendix/errors` lists its codes.'));
