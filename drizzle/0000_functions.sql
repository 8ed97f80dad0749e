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

create function is_timezone(name text) returns boolean language plpgsql immutable parallel safe as $$
begin
  perform timestamptz 'epoch' at time zone name;
  return true;
exception when invalid_parameter_value then
  return false;
end $$;
comment on function is_timezone(text) is 'Whether this server knows the time zone.';
