-- Without what changes by itself (rating, votes, installs), and without the other apps that the page shows.
create or replace function snapshot_facts(
  found boolean, price_micros bigint, currency text, is_free boolean, version text, minimum_os_version text,
  size text, main_category text, released_at timestamptz, updated_at timestamptz
) returns jsonb language sql stable parallel safe
return jsonb_build_object('found', found) || case when found then jsonb_build_object(
  'price', trim_scale(price_micros * 0.000001), 'currency', currency, 'is_free', is_free, 'version', version,
  'minimum_os_version', minimum_os_version, 'size', size, 'main_category', main_category,
  'released_at', released_at, 'updated_at', updated_at) else '{}' end;
comment on function snapshot_facts is
  'What a developer decides of an app, but for the texts; of an app that is not there, only that.';

create or replace function listing_facts(
  title text, description text, update_notes text, icon text, images text[], details jsonb
) returns jsonb language sql immutable parallel safe
return jsonb_build_object('title', title, 'description', description, 'update_notes', update_notes, 'icon',
  icon,
  'images', to_jsonb(images)) || (details - array['similarApps', 'moreAppsByDeveloper']);
comment on function listing_facts is 'The texts and lists that a developer gave the page of an app.';

-- A field that only one of the two measurements has did not change: the app was not in the store, or an older
-- storerank did not read the field.
create or replace view app_change as
select p.project, t.store, a.app_id, a.title, a.label, a.role, a.tags,
  (h.slot at time zone j.timezone)::date as day,
  coalesce(l.name, t.location_code::text) as location,
  t.location_code, t.language_code as language, h.slot, h.captured_at, previous.slot as previous_slot,
  lower(regexp_replace(change.field, '([A-Z])', '_\1', 'g') collate "C") as field, change.old_value,
    change.new_value, p.target_id, p.app
from watch_period p
join project j on j.name = p.project
join app_snapshot h on h.target_id = p.target_id and h.gap is null
  and is_shown(p.every, p.first_slot, p.last_slot, p.ended_at, h.slot, h.gap)
join target t on t.id = p.target_id
left join location l on l.store = t.store and l.code = t.location_code
join project_app a on a.project = p.project and a.app = p.app
cross join lateral (
  select s.slot, s.listing_hash, snapshot_facts(s.found, s.price_micros, s.currency, s.is_free, s.version,
    s.minimum_os_version, s.size, s.main_category, s.released_at, s.updated_at) as facts
  from app_snapshot s
  where s.target_id = p.target_id and s.slot < h.slot and s.gap is null and exists (
    select from watch_period other
    where other.target_id = p.target_id and other.project = p.project
      and is_shown(other.every, other.first_slot, other.last_slot, other.ended_at, s.slot, s.gap)
  )
  order by s.slot desc
  limit 1
) previous
cross join lateral (
  select key as field, o.value #>> '{}' as old_value, n.value #>> '{}' as new_value
  from jsonb_each(previous.facts) o
  join jsonb_each(snapshot_facts(h.found, h.price_micros, h.currency, h.is_free, h.version,
    h.minimum_os_version, h.size, h.main_category, h.released_at, h.updated_at)) n using (key)
  where o.value <> n.value
  union all
  select key, o.value #>> '{}', n.value #>> '{}'
  from listing old
  cross join listing new
  cross join jsonb_each(
    listing_facts(old.title, old.description, old.update_notes, old.icon, old.images, old.details)) o
  join jsonb_each(
    listing_facts(new.title, new.description, new.update_notes, new.icon, new.images, new.details)) n
      using (key)
  where old.hash = previous.listing_hash and new.hash = h.listing_hash and old.hash <> new.hash
    and o.value <> n.value
) change
where p.kind = 'app';
comment on view app_change is
  'What changed on the page of a watched app from one measurement to the next: one row per field. Not '
  'rating, votes, reviews and installs, which app_history has. A filter on day alone reads the whole '
  'history: filter by slot, or ask app_changes(project, from, to).';
comment on column app_change.slot is 'The slot of the measurement that shows the new value.';

create or replace function app_changes(
  in_project text, from_day date, to_day date, in_tag text default null, in_location text default null
) returns table (
  day date, store text, app_id text, title text, label text, role text, tags text[], location text,
  location_code integer, language text, slot timestamptz, captured_at timestamptz, previous_slot timestamptz,
  field text, old_value text, new_value text, target_id integer, app integer
) language sql stable parallel safe
begin atomic
  select c.day, c.store, c.app_id, c.title, c.label, c.role, c.tags, c.location, c.location_code, c.language,
    c.slot, c.captured_at, c.previous_slot, c.field, c.old_value, c.new_value, c.target_id, c.app
  from app_change c
  where c.project = in_project and c.day between from_day and to_day
    and c.slot >= (from_day - 1) + timetz '00:00+00' and c.slot < (to_day + 2) + timetz '00:00+00'
    and is_of(c.tags, c.location, in_tag, in_location);
end;
comment on function app_changes is
  'The rows of app_change of a project in a range of its days. Reads the partitions of the range, and of '
  'each page the measurement before it. With a tag or a location, of what has it.';
