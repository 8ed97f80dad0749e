create or replace function explain_status(of_code integer, said text) returns text language sql stable
return format('%s: %s', of_code, coalesce(nullif(btrim(said), ''),
  (select e.message from service_error e where e.code = of_code), 'The service gave no reason.'));
comment on function explain_status(integer, text) is
  'A status code with what the service said of it; when it said nothing, with the message of its own '
  'list of codes.';
