-- A field that only one of the two measurements has did not change: the app was not in the store, or an older
-- storerank did not read the field. What changes by itself (rating, votes, installs) is left out, and so are
-- the other apps that the page shows. The texts of a page are read only where they are others.
--- What changed on the page of a watched app from one measurement to the next: one row per field. Not rating,
--- votes, reviews and installs, which app_history has. A filter on day alone reads the whole history: filter
--- by slot, or ask app_changes(project, from, to).
--- .slot: The slot of the measurement that shows the new value.
create or replace view app_change as
select p.project, t.store, {{app a}}, a.tags, (h.slot at time zone j.timezone)::date as day, {{place t l}},
  h.slot, h.captured_at, previous.slot as previous_slot,
  lower(regexp_replace(change.field, '([A-Z])', '_\1', 'g') collate "C") as field,
  change.values[1] #>> '{}' as old_value, change.values[2] #>> '{}' as new_value, p.target_id, p.app
from watch_period p
join project j on j.name = p.project
join app_snapshot h on h.target_id = p.target_id and h.gap is null and {{shown p h}}
join target t on t.id = p.target_id
left join location l on l.store = t.store and l.code = t.location_code
join project_app a on a.project = p.project and a.app = p.app
cross join lateral (
  select s.slot, s.listing_hash from app_snapshot s
  where s.target_id = p.target_id and s.slot < h.slot and s.gap is null and {{asked p p.project s}}
  order by s.slot desc
  limit 1
) previous
cross join lateral (
  select fact.field, array_agg(fact.value order by s.slot) as values
  from app_snapshot s
  left join listing g on g.hash = s.listing_hash and h.listing_hash <> previous.listing_hash
  cross join lateral jsonb_each(
    jsonb_build_object('found', s.found)
    || case when s.found then jsonb_build_object('price', trim_scale(s.price_micros * 0.000001),
      'currency', s.currency, 'is_free', s.is_free, 'version', s.version,
      'minimum_os_version', s.minimum_os_version, 'size', s.size, 'main_category', s.main_category,
      'released_at', s.released_at, 'updated_at', s.updated_at) else '{}' end
    || case when g.hash is not null then jsonb_build_object('title', g.title, 'description', g.description,
      'update_notes', g.update_notes, 'icon', g.icon, 'images', g.images)
      || (g.details - array['similarApps', 'moreAppsByDeveloper']) else '{}' end
  ) fact (field, value)
  where s.target_id = p.target_id and s.slot in (previous.slot, h.slot)
  group by fact.field
) change
where p.kind = 'app' and change.values[1] <> change.values[2];

--- The rows of app_change of a project in a range of its days. Reads the partitions of the range, and of each
--- page the measurement before it. {{filter}}
create or replace function app_changes({{days}}, {{tagged}}) returns table (
  day date, store text, {{app}}, tags text[], location text, location_code integer, language text,
  slot timestamptz, captured_at timestamptz, previous_slot timestamptz, field text, old_value text,
  new_value text, target_id integer, app integer
) {{begin}}
  select c.day, c.store, {{app c}}, c.tags, c.location, c.location_code, c.language, c.slot, c.captured_at,
    c.previous_slot, c.field, c.old_value, c.new_value, c.target_id, c.app
  from app_change c
  where c.project = in_project and c.day between from_day and to_day and {{in_days c.slot}}
    and is_of(c.tags, c.location, in_tag, in_location);
end;
