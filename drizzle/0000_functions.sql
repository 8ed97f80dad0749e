-- Functions that the tables stand on. No uuidv7() before PostgreSQL 18, and we run on 15.

-- 48 bits of milliseconds, then the version, then the variant and the randomness of a v4.
create function uuid_v7() returns uuid language sql volatile parallel safe
return (lpad(to_hex((extract(epoch from clock_timestamp()) * 1000)::bigint), 12, '0')
  || '7' || substr(replace(gen_random_uuid()::text, '-', ''), 14))::uuid;
--> statement-breakpoint
comment on function uuid_v7() is 'A time-ordered UUID (RFC 9562, version 7).';
--> statement-breakpoint

-- Business time: slots, days, periods. Leases and call windows use clock_timestamp() and cannot be simulated.
create function storerank_now() returns timestamptz language sql stable parallel safe
return coalesce(nullif(current_setting('storerank.now', true), '')::timestamptz, now());
--> statement-breakpoint
comment on function storerank_now() is 'The present, or what a test or demo set with: set storerank.now = ''2026-11-21 12:00+00''.';
--> statement-breakpoint

-- 2001-01-01 was a Monday: every 7 days begins on Mondays, and all hours divide the UTC day.
create function slot_of(every interval, at timestamptz) returns timestamptz language sql immutable parallel safe
return date_bin(every, at, timestamptz '2001-01-01 00:00:00+00');
--> statement-breakpoint
comment on function slot_of(interval, timestamptz) is 'The slot (the instant a measurement is due) that an instant belongs to.';
--> statement-breakpoint

create function is_timezone(name text) returns boolean language plpgsql immutable parallel safe as $$
begin
  perform timestamptz 'epoch' at time zone name;
  return true;
exception when invalid_parameter_value then
  return false;
end $$;
--> statement-breakpoint
comment on function is_timezone(text) is 'Whether this server knows the time zone.';
