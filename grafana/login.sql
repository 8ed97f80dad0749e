-- The login of Grafana: it reads the views and nothing else. For psql, as the owner of the database, who
-- may make roles, or a superuser, with the password in the environment: GRAFANA_DATABASE_PASSWORD=… psql
-- "$DATABASE_URL" -f grafana/login.sql. It may be run again, for another password.
\set ON_ERROR_STOP on
\set password ''
\getenv password GRAFANA_DATABASE_PASSWORD
select length(:'password') < 12 as "isShort" \gset
\if :isShort
  \warn 'Set GRAFANA_DATABASE_PASSWORD to a password of 12 characters or more (openssl rand -hex 24).'
  do $$ begin raise exception 'The login of Grafana was not made.'; end $$;
\endif
do $$ begin
  if to_regrole('storerank_reader') is null then
    raise exception 'The role storerank_reader is missing: storerank migrate makes it, or says who may.';
  end if;
end $$;
select 'create role grafana login' where to_regrole('grafana') is null \gexec
alter role grafana login password :'password' connection limit 10;
grant storerank_reader to grafana;
-- A panel over years that nobody waits for any more ends.
alter role grafana set statement_timeout = '60s';
alter role grafana set default_transaction_read_only = on;
-- To compile a query over the views takes longer than to run it.
alter role grafana set jit = off;
-- Partitions are left out by their bounds: what this would leave out is nothing, and it reads the checks of
-- each of them.
alter role grafana set constraint_exclusion = off;
