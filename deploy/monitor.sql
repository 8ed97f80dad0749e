-- The login of a monitoring system, for `storerank status --check`: it reads the views and the books, no
-- pages and no secrets, and changes nothing. For psql, as the owner of the database, who may make roles, or
-- a superuser, with the password in the environment: MONITOR_DATABASE_PASSWORD=… psql "$DATABASE_URL" -f
-- deploy/monitor.sql. It may be run again, for another password, and after an upgrade.
\set ON_ERROR_STOP on
\set password ''
\getenv password MONITOR_DATABASE_PASSWORD
select length(:'password') < 12 as "isShort" \gset
\if :isShort
  \warn 'Set MONITOR_DATABASE_PASSWORD to a password of 12 letters and digits or more (openssl rand -hex 24).'
  do $$ begin raise exception 'The login of the monitoring system was not made.'; end $$;
\endif
do $$ begin
  if to_regrole('storerank_reader') is null then
    raise exception 'The role storerank_reader is missing: storerank migrate makes it, or says who may.';
  end if;
end $$;
select 'create role storerank_monitor login' where to_regrole('storerank_monitor') is null \gexec
alter role storerank_monitor login password :'password' connection limit 10;
grant storerank_reader to storerank_monitor;
grant select on
  account_usage, api_call, audit_difference, call_window, charge, job_run, ledger, post, service_status,
  spend, task
to storerank_monitor;
grant execute on function ledger_taken to storerank_monitor;
alter role storerank_monitor set statement_timeout = '10s';
