-- What is written to the history of searches and charts: always by these functions, which take what the
-- caller has decided. A distributed history takes no statement that writes other tables as well, and no
-- triggers.

--- Writes captures, one of each array: a capture takes the place of a gap, and never of another capture. ids,
--- absolutes, paid and places are arrays as texts.
create or replace function store_rankings(
  targets integer[], slots timestamptz[], captured timestamptz[], depths smallint[], results bigint[],
  ids text[], absolutes text[], reasons text[], paid text[] default null, places text[] default null
) returns void language plpgsql as $$
declare
  target_ids integer[];
  stored_slots timestamptz[];
begin
  with stored as (
    insert into ranking (target_id, slot, captured_at, depth, results_count, app_ids, absolute, reason,
      paid_ids, paid_places)
    select r.target_id, r.slot, r.captured_at, r.depth, r.results_count, r.ids::integer[],
      r.absolute::smallint[], r.reason, r.paid::integer[], r.places::smallint[]
    from unnest(targets, slots, captured, depths, results, ids, absolutes, reasons, paid, places)
      as r (target_id, slot, captured_at, depth, results_count, ids, absolute, reason, paid, places)
    on conflict (target_id, slot) do update set captured_at = excluded.captured_at, depth = excluded.depth,
      results_count = excluded.results_count, app_ids = excluded.app_ids, absolute = excluded.absolute,
      gap = null, reason = excluded.reason, paid_ids = excluded.paid_ids, paid_places = excluded.paid_places
    where ranking.gap is not null
    returning target_id, slot
  )
  select array_agg(s.target_id), array_agg(s.slot) into target_ids, stored_slots from stored s;
  perform note_alert_due(target_ids, stored_slots, null);
end $$;

--- Writes gaps, one of each array, where the history has no row yet; returns the reason of each that was
--- written.
create or replace function store_gaps(
  targets integer[], slots timestamptz[], gaps text[], reasons text[], captured timestamptz[] default null,
    depths smallint[] default null
) returns setof text language plpgsql as $$
declare
  target_ids integer[];
  stored_slots timestamptz[];
  stored_gaps text[];
begin
  with stored as (
    insert into ranking (target_id, slot, gap, reason, captured_at, depth)
    select g.target_id, g.slot, g.gap, g.reason, g.captured_at, g.depth
    from unnest(targets, slots, gaps, reasons, captured, depths) as g (target_id, slot, gap, reason,
      captured_at, depth)
    on conflict (target_id, slot) do nothing
    returning target_id, slot, gap
  )
  select array_agg(s.target_id), array_agg(s.slot), array_agg(s.gap) into target_ids, stored_slots,
    stored_gaps from stored s;
  perform note_alert_due(target_ids, stored_slots, stored_gaps);
  return query select unnest(stored_gaps);
end $$;

create or replace function delete_rankings(targets integer[], slots timestamptz[]) returns bigint
  language plpgsql as $$
declare
  deleted bigint;
begin
  delete from ranking r using unnest(targets, slots) d (target_id, slot) where r.target_id = d.target_id
    and r.slot = d.slot;
  get diagnostics deleted = row_count;
  return deleted;
end $$;
