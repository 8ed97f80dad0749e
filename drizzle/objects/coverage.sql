create or replace view coverage as
select s.project, (s.slot at time zone 'UTC')::date as day, t.function, count(*) as owed,
  count(*) filter (where s.gap is null) as captured, count(*) filter (where s.gap = 'failed') as failed,
  count(*) filter (where s.gap = 'budget') as budget, count(*) filter (where s.gap = 'missed') as missed,
  count(*) filter (where s.gap = 'html_only') as html_only, count(*) filter (where s.gap = 'pending') as pending,
  round(count(*) filter (where s.gap is null)::numeric
    / nullif(count(*) filter (where s.gap is distinct from 'pending'), 0), 4) as captured_share
from (
  select project, target_id, slot, gap from ranking_slot
  union all
  select project, target_id, slot, gap from app_slot
) s
join target t on t.id = s.target_id
group by 1, 2, 3;
comment on view coverage is
  'What became of the slots of each day: how far the history can be trusted.';
comment on column coverage.project is 'The project.';
comment on column coverage.day is 'The UTC day of the slots.';
comment on column coverage.function is 'app_searches, app_list, app_info or app_reviews.';
comment on column coverage.owed is 'Slots that were asked for: measurements, gaps and what is pending.';
comment on column coverage.captured is 'Slots that were measured.';
comment on column coverage.failed is 'Slots whose task failed, or whose result could not be read.';
comment on column coverage.budget is 'Slots that no budget reached.';
comment on column coverage.missed is 'Slots that ended before anything asked for them.';
comment on column coverage.html_only is 'Slots that were measured, but as a page without ranks.';
comment on column coverage.pending is 'Slots that are not closed yet.';
comment on column coverage.captured_share is 'Measured slots, as a share of those that are closed; null while none is.';
grant select on coverage to storerank_editor, storerank_reader;
