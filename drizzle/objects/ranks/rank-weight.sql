-- Arrays, so that a rank is looked up by its place, without a join.
create or replace function rank_weights(in_curve text)
returns table (weights double precision[], totals double precision[]) language sql stable parallel safe
begin atomic
  select array_agg(w.weight order by w.place), array_agg(w.total order by w.place)
  from (
    select place, coalesce(w.weight, 0) as weight, sum(coalesce(w.weight, 0)) over (order by place) as total
    from generate_series(1, (select max(m.rank) from rank_weight m where m.curve = in_curve)) place
    left join rank_weight w on w.curve = in_curve and w.rank = place
  ) w;
end;
comment on function rank_weights is
  'What each rank is worth by a curve of rank_weight, at the place of the rank, and what the ranks up to it '
  'are worth together; null when there is no such curve.';

-- Of two parts, so that the first is inlined: a hole is rare.
create or replace function holes_worth(in_app_ids integer[], in_weights double precision[])
  returns double precision
language sql immutable parallel safe
return (select coalesce(sum(in_weights[hole]), 0) from unnest(array_positions(in_app_ids, 0)) hole);
comment on function holes_worth is
  'What the places of a measurement that name no app weigh together, by rank_weights.';

create or replace function places_worth(
  in_app_ids integer[], in_weights double precision[], in_totals double precision[]
) returns double precision language sql immutable parallel safe
return in_totals[case when cardinality(in_app_ids) > cardinality(in_totals) then cardinality(in_totals)
    else cardinality(in_app_ids) end]
  - case when 0 = any(in_app_ids) then holes_worth(in_app_ids, in_weights) else 0 end;
comment on function places_worth is
  'What the places of a measurement weigh together, by rank_weights; null of a gap.';

comment on table rank_weight is
  'What a rank is worth, by curve. Visibility is Σ keyword weight × weight(rank) / Σ keyword weight × '
  'weight(1). Two curves are delivered once, and a migration never overwrites them: reciprocal, 1/rank up to '
  'rank 100; and clicks, the share of searches in which each of the first ten places is clicked (SISTRIX, '
  '"Why (almost) everything you knew about Google CTR is no longer valid", July 2020: 28.5, 15.7, 11.0, 8.0, '
  '7.2, 5.1, 4.0, 3.2, 2.8 and 2.5 % of 80 million keywords), continued as it ends, each rank by 25/28 less '
  'than the one before, up to rank 100.';
comment on column rank_weight.rank is
  'The organic rank. A rank that the curve does not name is worth nothing.';
comment on column rank_weight.weight is 'What the rank is worth; only its ratio to that of rank 1 counts.';
comment on column keyword_watch.weight is
  'What the keyword is worth beside the others of its project, in visibility and share of voice: 0 to '
  '1000000. Where it is null the volume of the keyword counts, and 1 where that is null too.';
comment on column keyword_watch.volume is
  'How often it is searched for, as a tool of yours says it: per month, or on any scale that all keywords of '
  'the project share. It is the weight of a keyword that has none.';
comment on table annotation is
  'Notes of a project on its days: a campaign, an outage. The view project_event shows them beside the '
  'releases.';
comment on column annotation.app_id is 'The id in its store of the app that it is about; null: all.';
comment on column annotation.text is 'What happened.';
