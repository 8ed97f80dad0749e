-- Arrays, so that a rank is looked up by its place, without a join.
--- What each rank is worth by a curve of rank_weight, at the place of the rank, and what the ranks up to it
--- are worth together; null when there is no such curve.
create or replace function rank_weights(in_curve text)
returns table (weights double precision[], totals double precision[]) {{begin}}
  select array_agg(w.weight order by w.place), array_agg(w.total order by w.place)
  from (
    select place, coalesce(w.weight, 0) as weight, sum(coalesce(w.weight, 0)) over (order by place) as total
    from generate_series(1, (select max(m.rank) from rank_weight m where m.curve = in_curve)) place
    left join rank_weight w on w.curve = in_curve and w.rank = place
  ) w;
end;

-- Of two parts, so that the first is inlined: a hole is rare.
create or replace function holes_worth(in_app_ids integer[], in_weights double precision[])
  returns double precision
language sql immutable parallel safe
return (select coalesce(sum(in_weights[hole]), 0) from unnest(array_positions(in_app_ids, 0)) hole);

--- What the places of a measurement weigh together, by rank_weights; null of a gap.
create or replace function places_worth(
  in_app_ids integer[], in_weights double precision[], in_totals double precision[]
) returns double precision language sql immutable parallel safe
return in_totals[case when cardinality(in_app_ids) > cardinality(in_totals) then cardinality(in_totals)
    else cardinality(in_app_ids) end]
  - case when 0 = any(in_app_ids) then holes_worth(in_app_ids, in_weights) else 0 end;
