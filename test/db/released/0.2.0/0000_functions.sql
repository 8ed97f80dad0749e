-- The functions that defaults and checks of the tables call. All other functions are in drizzle/objects.

-- 48 bits of milliseconds, then the version, then the variant and the randomness of a v4. PostgreSQL has uuidv7() from 18 on,
-- and storerank runs on 15.
create function uuid_v7() returns uuid language sql volatile parallel safe
return (lpad(to_hex((extract(epoch from clock_timestamp()) * 1000)::bigint), 12, '0')
  || '7' || substr(replace(gen_random_uuid()::text, '-', ''), 14))::uuid;
comment on function uuid_v7() is 'A time-ordered UUID (RFC 9562, version 7).';
revoke execute on function uuid_v7() from public;

-- Business time: slots, days, periods. Leases and call windows use clock_timestamp() and cannot be simulated.
create function storerank_now() returns timestamptz language sql stable parallel safe
return coalesce(nullif(current_setting('storerank.now', true), '')::timestamptz, now());
comment on function storerank_now() is 'The present, or what a test or demo set with: set storerank.now = ''2026-11-21 12:00+00''.';

-- `at time zone` also takes offsets, abbreviations and rules of POSIX ('UTC+2', '+02:00', 'CET', 'PST8PDTX'), which mean something
-- else than the name, or nothing. What has a slash and no digit is none of these, and pg_timezone_names, which takes a tenth of a
-- second, is asked about the rest. An abbreviation that is a name as well stays an abbreviation: 'CET' has no summer time.
create function is_timezone(name text) returns boolean language plpgsql immutable parallel safe as $$
begin
  if name in ('UTC', 'GMT') then
    return true;
  end if;
  perform timestamptz 'epoch' at time zone name;
  if name ~ '^[A-Z][A-Za-z_]*(/[A-Za-z_-]+)+$' then
    return true;
  end if;
  return exists (select from pg_timezone_names n where n.name = is_timezone.name)
    and not exists (select from pg_timezone_abbrevs a where a.abbrev = is_timezone.name);
exception when invalid_parameter_value then
  return false;
end $$;
comment on function is_timezone(text) is 'Whether it is the name of a time zone that this server knows.';

-- Line breaks and tabs, escape sequences of a terminal, and marks that turn round what comes after them.
create function has_control_characters(value text) returns boolean language sql immutable parallel safe
return value ~ '[\u0001-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]';
comment on function has_control_characters(text) is 'Whether a text has characters that control how it is shown.';

create function have_length(texts text[], shortest integer, longest integer) returns boolean language sql immutable parallel safe
return (select coalesce(bool_and(coalesce(char_length(t), 0) between shortest and longest), true) from unnest(texts) t);
comment on function have_length(text[], integer, integer) is 'Whether each of the texts has so many characters; a null has none.';

-- What PostgreSQL says of a duplicate names the key, so most keywords are their own.
create function subject_key(subject text) returns text language sql immutable parallel safe
return case when octet_length(subject) <= 1000 then subject else left(subject, 60) || '… ' || md5(subject) end;
comment on function subject_key(text) is 'A text as the entry of an index, which may not be as long as a keyword.';

-- The collation "C" first, because that of the database may be Turkish, where I is not the capital of i.
create function folded_subject(subject text) returns text language sql immutable parallel safe
return lower(lower(subject collate "C") collate "default");
comment on function folded_subject(text) is 'A keyword in small letters: the stores do not tell apart what differs in nothing else.';

-- A CHECK calls it instead of being false. The sentences are in drizzle/objects/refusals.sql, so that one may change while the table
-- stays as it is.
create function refuse(in_table text, rule text, of_row text[], variadic given jsonb[]) returns boolean
language plpgsql stable parallel safe security definer set search_path = public, pg_temp as $$
declare
  told record;
begin
  select * into told from refusal_of(in_table, rule, of_row, given);
  raise exception using errcode = told.code, message = told.message, detail = told.detail, hint = told.hint,
    schema = 'public', table = in_table, constraint = in_table || '_' || rule;
end $$;
comment on function refuse(text, text, text[], jsonb[]) is
  'Raises the sentence of a rule that a row breaks, with the values that break it. It never returns.';

-- What the service has taken since the ledger began, as it said at the time: an adjustment is dated like its charge, and never
-- by when it was found. In PL/pgSQL: the default of a table calls it before its own tables are made.
create function ledger_taken() returns bigint language plpgsql stable as $$
begin
  return (select l.taken_micros from ledger l)
    + coalesce((select sum(c.charged_micros + c.duplicate_micros)
        from spend_change c where c.scope = 0), 0);
end $$;
comment on function ledger_taken() is 'What the service has taken since the ledger began, refunds and adjustments not counted, in micro-dollars.';
revoke execute on function ledger_taken() from public;
