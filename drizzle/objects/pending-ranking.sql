create or replace view pending_ranking as
select s.period_id, s.project, s.kind, s.target_id, s.every, s.slot
from open_slot s
where s.kind in ('keyword', 'chart')
  and not exists (select from ranking_row r where r.target_id = s.target_id and r.slot = s.slot offset 0);
comment on view pending_ranking is
  'The slots of keywords and charts that a watch period asked for and the history has no row of: the current one, and older ones until they are closed.';
comment on column pending_ranking.period_id is 'The watch period: watch_period.id.';
comment on column pending_ranking.project is 'The project.';
comment on column pending_ranking.kind is 'keyword or chart.';
comment on column pending_ranking.target_id is 'The measured target: what ranking, task and charge call it.';
comment on column pending_ranking.every is 'How often it is asked for.';
comment on column pending_ranking.slot is 'When the measurement was due.';
grant select on pending_ranking to storerank_editor, storerank_reader;
